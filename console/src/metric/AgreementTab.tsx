import { useQuery } from '@tanstack/react-query';
import { HttpStatusError } from '../../../client/errors.ts';
import { agreementQuery } from '../data/agreement.ts';
import { queuesQuery } from '../data/annotations.ts';
import type { Metric } from '../data/metrics.ts';
import { experimentsQuery, logStreamsQuery } from '../data/projects.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { problemsOf } from '../parts/fieldProblems.ts';
import { countText, timeText } from '../parts/format.ts';
import { LoadingNote } from '../parts/notes.tsx';
import { usePreferences } from '../parts/preferences.ts';
import { Agreement } from './Agreement.tsx';
import styles from './Judge.module.css';
import { useMetricAddress } from './useMetricAddress.ts';

/** How far a metric agrees with people, in the run and for the questions that the address names. */
export function AgreementTab({ metric }: { metric: Metric }) {
  const { projectId, address, change } = useMetricAddress();
  const { zone } = usePreferences();
  const streams = useQuery(logStreamsQuery(projectId));
  const experiments = useQuery(experimentsQuery(projectId));
  const queues = useQuery(queuesQuery('')).data ?? [];
  const [stream] = streams.data ?? [];
  const [experiment] = experiments.data ?? [];
  const isStreamless = address.run === undefined && streams.data !== undefined && stream === undefined;
  const experimentId = address.experiment ?? (isStreamless ? experiment?.id : undefined);
  const runId = experimentId ?? address.run ?? stream?.id;
  const isExperiment = experimentId !== undefined;
  const run = { projectId, runId: runId ?? '', isExperiment };
  // A name that several judges have is of none of them.
  const name = metric.scorer_type === 'preset' ? metric.name : metric.id;
  const { data, error, refetch } = useQuery({ ...agreementQuery(run, name, address.queue), enabled: runId !== undefined });
  const choose = (chosen: string) => {
    const [kind, id] = chosen.split(' ');
    change(kind === 'experiment' ? { experiment: id, run: undefined } : { run: id, experiment: undefined });
  };
  const isWithoutValues = data?.with_value === 0 || hasNoValues(error);
  const rated =
    data?.agreements.filter(
      ({ pairs, people_only, undecided, unreadable }) => pairs + people_only + undecided + unreadable > 0,
    ) ?? [];
  const unread = streams.error ?? experiments.error;
  if (unread) return <ErrorNote error={unread} onRetry={() => void Promise.all([streams.refetch(), experiments.refetch()])} />;
  if (!streams.data || !experiments.data) return <LoadingNote what="the runs" />;
  if (runId === undefined) return <p className="quiet">The project has no log stream or experiment yet.</p>;
  return (
    <>
      <div className={styles.fields}>
        <label>
          Records of
          <select value={`${isExperiment ? 'experiment' : 'run'} ${runId}`} onChange={(event) => choose(event.target.value)}>
            {streams.data.map(({ id, name: called }) => (
              <option key={id} value={`run ${id}`}>
                {called}
              </option>
            ))}
            {experiments.data.map(({ id, name: called, created_at }) => (
              <option key={id} value={`experiment ${id}`}>
                {called} (experiment of {timeText(created_at, zone)})
              </option>
            ))}
          </select>
        </label>
        <label>
          Rated in
          <select value={address.queue ?? ''} onChange={(event) => change({ queue: event.target.value || undefined })}>
            <option value="">all queues</option>
            {queues.map(({ id, name: called }) => (
              <option key={id} value={id}>
                {called}
              </option>
            ))}
          </select>
        </label>
      </div>
      {isWithoutValues ? (
        <p role="status">
          {data ? `None of ${countText(data.records)} records has` : 'No record has'} a value of this metric, so nothing is known
          of the agreement. Switch the metric on for a log stream, run an experiment with it, or choose other records.
        </p>
      ) : error ? (
        <ErrorNote error={error} onRetry={() => void refetch()} />
      ) : (
        !data && <LoadingNote what="the agreement" />
      )}
      {data && !isWithoutValues && (
        <p role="status">
          {countText(data.with_value)} of {countText(data.records)} records have a value of this metric
          {data.is_cut && '; older records are left out'}.
        </p>
      )}
      {data && rated.length === 0 && (
        <p className="quiet">
          No one has rated these records{isWithoutValues ? '' : ', so nothing is known of the agreement'}. Put records in an
          annotation queue and answer its questions.
        </p>
      )}
      {!isWithoutValues &&
        rated.map((one) => <Agreement key={one.template_id} found={one} run={run} kinds={metric.scoreable_node_types ?? []} />)}
    </>
  );
}

/** The service says that the run has no such metric: there is one, and no record has a value of it yet. */
const hasNoValues = (error: unknown): boolean =>
  error instanceof HttpStatusError && problemsOf(error).some(({ type }) => type === 'column_unknown');
