import { useQuery } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useState } from 'react';
import type { DetailTab } from '../address/traceAddress.ts';
import { type ExperimentRef, type LiveProgress, type RunSettings, runSettingsQuery } from '../data/experiment.ts';
import type { Experiment } from '../data/experiments.ts';
import { type Column, countQuery, type RecordKind, type RunOf } from '../data/records.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { countText } from '../parts/format.ts';
import { Icon } from '../parts/Icon.tsx';
import { LoadingNote } from '../parts/notes.tsx';
import { useThrottled } from '../parts/useThrottled.ts';
import { NothingFits } from '../records/NothingFits.tsx';
import { RecordBrowser } from '../records/RecordBrowser.tsx';
import { RecordColumns } from '../records/RecordColumns.tsx';
import { RecordFilter } from '../records/RecordFilter.tsx';
import { useFoundRecords } from '../records/useFoundRecords.ts';
import { useRecordsAddress, useRunView } from '../records/useRecordsView.ts';
import styles from './ExperimentPage.module.css';
import { isUnderWay } from './runState.ts';
import { useExperimentAddress } from './useExperimentAddress.ts';

/** Milliseconds between two counts of the rows that fit a filter. */
const COUNT_MS = 3_000;
const FAILED_FIRST = '-status_code';

interface Props {
  of: ExperimentRef;
  experiment: Experiment;
  progress: LiveProgress | undefined;
}

/** The rows of an experiment in a table. Rows that come while it is read are counted, and come into it when somebody presses. */
export function RunRows({ of, experiment, progress }: Props) {
  const [address, change] = useRecordsAddress();
  const [{ detail }, changePage] = useExperimentAddress();
  const run = useMemo<RunOf>(() => ({ projectId: of.projectId, runId: of.experimentId, isExperiment: true }), [of]);
  const { data: settings } = useQuery(runSettingsQuery(of));
  const usual = useMemo(() => usualColumns(experiment, settings?.metrics ?? []), [experiment, settings]);
  const view = useRunView(of.projectId, run, 'traces', usual);
  const { catalog, shown, filter, question } = view;
  const found = useFoundRecords(view);
  const { total, error, isLoading, retry, counted, loadNew } = found;
  const [loads, setLoads] = useState(0);
  const [seen, setSeen] = useState<string>();
  // Rows that come, and rows that are run again in their place.
  const is = progress && `${progress.rows_done} ${progress.rows_failed} ${progress.scores_done}`;
  const held = useThrottled(filter && question ? progress?.rows_done : undefined, COUNT_MS);
  const fitting = useQuery(countQuery(question ?? { ...view, run, filter, sort: undefined, columns: [] }, held)).data;
  const now = filter ? fitting : progress?.rows_done;
  const fresh = now !== undefined && counted !== undefined ? Math.max(0, now - counted) : 0;
  const hasChanged = is !== undefined && seen !== undefined && is !== seen;
  const load = () => {
    setSeen(is);
    setLoads(loads + 1);
    void loadNew();
  };
  useEffect(() => {
    if (seen === undefined && counted !== undefined && is !== undefined) setSeen(is);
  }, [seen, counted, is]);
  // An empty table holds nothing that could move.
  const isFilled = total !== 0 || fresh === 0;
  useEffect(() => {
    if (!isFilled) void loadNew();
  }, [isFilled, loadNew]);
  const onTab = useCallback((tab: DetailTab | undefined) => changePage({ detail: tab }, { replace: true }), [changePage]);
  const isFailedFirst = address.sort === FAILED_FIRST;
  return (
    <div className={styles.rows}>
      <div className={styles.tools}>
        <RecordFilter
          {...{ run, catalog }}
          projectId={of.projectId}
          kind="traces"
          problem={view.problem}
          placeholder="Filter rows, as in status_code >= 400"
        />
        <span role="status" className={styles.total}>
          {total === undefined ? ' ' : `${countText(total)} ${total === 1 ? 'row' : 'rows'}`}
        </span>
        <button type="button" className={`iconed ${styles.fresh}`} data-none={fresh === 0 && !hasChanged} onClick={load}>
          <Icon name="up" />
          {fresh > 0 ? `${countText(fresh)} new` : 'Show changes'}
        </button>
        <button
          type="button"
          aria-pressed={isFailedFirst}
          onClick={() => change({ sort: isFailedFirst ? undefined : FAILED_FIRST })}
        >
          Failed first
        </button>
        <RecordColumns {...{ catalog, shown }} />
      </div>
      {view.error && <ErrorNote error={view.error} onRetry={view.retry} />}
      {error && <ErrorNote error={error} onRetry={retry} />}
      {isLoading && !view.problem && !view.error && <LoadingNote what="rows" />}
      {total === 0 && filter && <NothingFits kind="rows" />}
      {total === 0 && !filter && (
        <p className={styles.empty}>{progress && isUnderWay(progress.state) ? 'No row has ended yet.' : 'No row is recorded.'}</p>
      )}
      <RecordBrowser {...{ view, run, found, loads }} tab={detail} onTab={onTab} />
    </div>
  );
}

/** The usual columns: input, output, reference, scores, and what the row took. */
function usualColumns(experiment: Experiment, metrics: RunSettings['metrics']) {
  const names = new Set([...metrics.map(({ name }) => name), ...experiment.logged_metrics.map(({ name }) => name)]);
  for (const name of Object.keys(experiment.aggregates)) names.add(name);
  return (_kind: RecordKind, catalog: readonly Column[]): readonly string[] => {
    const score = (name: string) => {
      const ids = [`metrics/${name}`, `metrics/${experiment.metric_scorer_ids[name]}`];
      const column = catalog.find(({ id, group_label: group }) => ids.includes(id) && group !== 'System Metrics');
      return column && !usualFigures.includes(column.id) ? [column.id] : [];
    };
    return [
      'dataset_row_ordinal',
      ...(experiment.trials > 1 ? ['trial'] : []),
      ...['status_code', 'input', 'dataset_output', 'output'],
      ...[...names].flatMap(score),
      ...usualFigures,
    ];
  };
}

const usualFigures: readonly string[] = ['metrics/duration_ns', 'metrics/cost', 'attempts'];
