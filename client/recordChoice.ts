import type { OperationOptions } from './callOptions.ts';
import { ValueError } from './errors.ts';

/** The run that holds records: exactly one of these. */
export interface RunChoice {
  logStreamId?: string | undefined;
  experimentId?: string | undefined;
  metricsTestingId?: string | undefined;
}

/** The records that an operation is about. */
export interface RecordChoice extends OperationOptions, RunChoice {
  /** Default `traces`. */
  kind?: 'traces' | 'spans' | 'sessions' | undefined;
  /** As a search has them; joined by AND with the tree. */
  filters?: Record<string, unknown>[] | undefined;
  /** A filter tree with `and`, `or` and `not`. */
  filterTree?: Record<string, unknown> | undefined;
}

/** The run of a choice as requests name it. @throws ValueError unless exactly one is given. */
export function runOf({ logStreamId, experimentId, metricsTestingId }: RunChoice) {
  const run = { log_stream_id: logStreamId, experiment_id: experimentId, metrics_testing_id: metricsTestingId };
  if (Object.values(run).filter(Boolean).length !== 1)
    throw new ValueError('name the run: logStreamId, experimentId or metricsTestingId');
  return run;
}

/** The records of a choice as requests name them. Throws as {@link runOf}. */
export const recordsOf = (choice: RecordChoice) => ({
  ...runOf(choice),
  filters: choice.filters,
  filter_tree: choice.filterTree,
});
