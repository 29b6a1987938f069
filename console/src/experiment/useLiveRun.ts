import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { HttpStatusError } from '../../../client/errors.ts';
import { type ExperimentRef, type LiveProgress, renewExperiment } from '../data/experiment.ts';
import { followExperiment } from '../data/service.ts';
import { type StreamOptions, useStream } from '../parts/useStream.ts';

/** The state of the run by the answer to a steering call, until the next event comes. */
export type Steered = Pick<LiveProgress, 'state' | 'concurrency'>;

export interface LiveRun {
  /** Undefined before the first event. */
  progress: LiveProgress | undefined;
  isConnected: boolean;
  error: Error | undefined;
  /** The experiment was deleted, or the account does not see it any more. */
  isGone: boolean;
  steered(reply: Steered): void;
}

/** How far the run of an experiment is, as it comes. What its start, its end or a person changes of the experiment itself is read anew. */
export function useLiveRun({ projectId, experimentId }: ExperimentRef): LiveRun {
  const of = useMemo(() => ({ projectId, experimentId }), [projectId, experimentId]);
  const open = useMemo(() => (options: StreamOptions) => followExperiment({ ...of, ...options }), [of]);
  const { latest, isConnected, error } = useStream(open, { keeps: true });
  const [answer, setAnswer] = useState<{ after: string | undefined; run: Steered }>();
  const progress = latest && answer?.after === latest.id ? { ...latest, ...answer.run } : latest;
  const steered = useCallback(
    ({ state, concurrency }: Steered) => setAnswer({ after: latest?.id, run: { state, concurrency } }),
    [latest?.id],
  );
  const is = latest && `${latest.state} ${latest.concurrency} ${JSON.stringify(latest.rerun)} ${latest.ended_at}`;
  const was = useRef(is);
  useEffect(() => {
    if (is === undefined || is === was.current) return;
    const isFirst = was.current === undefined;
    was.current = is;
    if (!isFirst) void renewExperiment(of);
  }, [is, of]);
  return { progress, isConnected, error, isGone: error instanceof HttpStatusError && error.status === 404, steered };
}
