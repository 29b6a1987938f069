import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { metricsQuery } from '../data/metrics.ts';
import { MetricChoice } from '../metrics/MetricChoice.tsx';
import { metricReferences } from '../metrics/metricReferences.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { LoadingNote } from '../parts/notes.tsx';
import styles from './Judge.module.css';

interface Props {
  projectId: string;
  /** The kinds of records that the new metric looks at. */
  kinds: readonly string[];
  /** The metrics whose values it uses, as a request names them. */
  required: readonly string[];
  onRequired(required: string[]): void;
  /** How it gets the values. */
  children: ReactNode;
}

/** The metrics whose values of the same record a new metric uses. */
export function RequiredField(props: Props) {
  const { required } = props;
  const [isOpen, setOpen] = useState(required.length > 0);
  return (
    <details open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>It uses values of other metrics{required.length > 0 && `: ${required.join(', ')}`}</summary>
      {isOpen && <Choice {...props} />}
    </details>
  );
}

function Choice({ projectId, kinds, required, onRequired, children }: Props) {
  const { data: metrics, error, refetch } = useQuery(metricsQuery(projectId));
  const references = useMemo(() => metricReferences(metrics ?? []), [metrics]);
  if (error && !metrics) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!metrics) return <LoadingNote what="the metrics" />;
  const known = new Set(references.values());
  const keyOf = ({ id }: { id: string }) => references.get(id) ?? id;
  const toggle = (metric: { id: string }) => {
    const key = keyOf(metric);
    // One that is gone goes with the next choice.
    const others = required.filter((one) => one !== key && known.has(one));
    onRequired(required.includes(key) ? others : [...others, key]);
  };
  return (
    <div className={styles.required}>
      <p className="quiet">They are computed before, for the same record; a judge among them is paid for. {children}</p>
      <MetricChoice
        {...{ metrics, chosen: required, keyOf, onToggle: toggle }}
        lackOf={({ scoreable_node_types: theirs }) =>
          !theirs || theirs.some((kind) => kinds.includes(kind)) ? undefined : `looks at others alone: ${theirs.join(', ')}`
        }
      />
    </div>
  );
}
