import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { hasLimit, playgroundLimitsQuery, refreshPlaygroundLimits } from '../data/playgroundLimits.ts';
import { limitsText } from './limitsText.ts';
import styles from './Playground.module.css';

interface Props {
  projectId: string;
  /** The states of the calls of the page: a call that begins or ends changes what is left. */
  states: string;
}

/** Shows what is left of the limits of the project, where it has some. */
export function LimitsLeft({ projectId, states }: Props) {
  const { data } = useQuery(playgroundLimitsQuery(projectId));
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked for again when a call begins or ends
  useEffect(() => void refreshPlaygroundLimits(projectId), [projectId, states]);
  if (!data || !hasLimit(data)) return null;
  const { calls, cost, costDetail } = limitsText(data);
  return (
    <p className={`quiet ${styles.left}`}>
      <span className="only-read">Limits of the project: </span>
      {data.most_calls !== null && <span>{calls}</span>}
      {data.most_cost_per_day !== null && <span title={costDetail}>{cost}</span>}
    </p>
  );
}
