import { useNavigate } from '@tanstack/react-router';
import { useCallback, useMemo, useState } from 'react';
import type { Experiment } from '../data/experiments.ts';
import { useProjectName } from '../data/projectName.ts';
import { FilterBar } from '../filterBar/FilterBar.tsx';
import { ColumnsMenu } from '../parts/ColumnsMenu.tsx';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { countText } from '../parts/format.ts';
import { LoadingNote } from '../parts/notes.tsx';
import { StartLink } from '../parts/StartLink.tsx';
import { useKeys } from '../parts/useKeys.ts';
import { useTitle } from '../parts/useTitle.ts';
import { comparisonOf } from './comparisonOf.ts';
import { EditExperiment } from './EditExperiment.tsx';
import styles from './ExperimentsPage.module.css';
import { ExperimentTable } from './ExperimentTable.tsx';
import { type CatalogColumn, usualColumns } from './experimentColumns.ts';
import { GroupPicker } from './GroupPicker.tsx';
import { NoExperiments } from './NoExperiments.tsx';
import { PickBar } from './PickBar.tsx';
import { Trend } from './Trend.tsx';
import { useExperimentCompletion } from './useExperimentCompletion.ts';
import { type ExperimentsView, useExperimentsAddress, useExperimentsView } from './useExperimentsView.ts';
import { useListedExperiments } from './useListedExperiments.ts';
import { useNewMetrics } from './useNewMetrics.ts';

/** The experiments of a project in a table under a filter, and the trend of a group or series. All that is chosen is in the address. */
export function ExperimentsPage() {
  const view = useExperimentsView();
  useTitle('Experiments', useProjectName(view.projectId));
  return (
    <div className={styles.page}>
      <h1 className="only-read">Experiments</h1>
      {view.error && <ErrorNote error={view.error} />}
      {view.catalog && <Experiments view={view} catalog={view.catalog} />}
    </div>
  );
}

function Experiments({ view, catalog }: { view: ExperimentsView; catalog: readonly CatalogColumn[] }) {
  const [address, change] = useExperimentsAddress();
  const navigate = useNavigate();
  const list = useListedExperiments(view.question);
  const { experiments, total, fresh } = list;
  useNewMetrics(view.projectId, experiments);
  const [edited, setEdited] = useState<Experiment>();
  const ids = useMemo(() => address.cols ?? usualColumns(catalog, experiments), [address.cols, catalog, experiments]);
  const columns = useMemo(
    () =>
      withName(
        ids.flatMap((id) => catalog.find((one) => one.id === id) ?? []),
        catalog,
      ),
    [ids, catalog],
  );
  const useCompletion = (text: string, caret: number | undefined) => useExperimentCompletion(catalog, experiments, text, caret);

  const pick = address.pick ?? noPick;
  const onPick = useCallback(
    (id: string) => change({ pick: pick.includes(id) ? pick.filter((one) => one !== id) : [...pick, id] }, { replace: true }),
    [pick, change],
  );
  const onAt = useCallback((id: string) => change({ at: id }, { replace: true }), [change]);
  const onSeries = useCallback((series: string) => change({ series, at: undefined }), [change]);
  const atIndex = experiments.findIndex(({ id }) => id === address.at);
  const at = experiments[atIndex];
  const onMove = (step: number) => {
    const next = experiments[Math.min(experiments.length - 1, Math.max(0, atIndex < 0 ? 0 : atIndex + step))];
    if (next) onAt(next.id);
  };
  const open = () =>
    at &&
    void navigate({
      to: '/p/$projectId/experiments/$experimentId',
      params: { projectId: view.projectId, experimentId: at.id },
      search: {},
    });
  const compare = () =>
    pick.length > 1 &&
    void navigate({
      ...{ to: '/p/$projectId/compare', params: { projectId: view.projectId } },
      search: comparisonOf(pick, experiments),
    });
  useKeys({
    j: () => onMove(1),
    k: () => onMove(-1),
    x: () => at && onPick(at.id),
    e: () => at && setEdited(at),
    c: compare,
    Escape: () => change({ pick: undefined }, { replace: true }),
  });
  const isAll = address.q === undefined && address.group === undefined && address.series === undefined;
  if (total === 0 && isAll) return <NoExperiments projectId={view.projectId} />;
  return (
    <>
      <div className={styles.tools}>
        <GroupPicker groups={view.groups ?? []} />
        <FilterBar
          q={address.q ?? ''}
          problem={view.problem}
          placeholder="Filter, as in metrics/exact_match > 0.8 and state = completed"
          useCompletion={useCompletion}
          onAsk={(q) => change({ q, at: undefined })}
        />
        <span role="status" className={styles.total}>
          {total === undefined ? ' ' : `${countText(total)} ${total === 1 ? 'experiment' : 'experiments'}`}
        </span>
        <button type="button" className={styles.fresh} data-none={fresh === 0} onClick={list.loadFresh}>
          {countText(fresh)} new
        </button>
        <StartLink projectId={view.projectId} search={{}} label="New experiment" isPrimary />
        <ColumnsMenu catalog={catalog} shown={columns} onChange={({ cols }) => change({ cols }, { replace: true })} />
      </div>
      {list.error && <ErrorNote error={list.error} onRetry={list.loadFresh} />}
      {list.isLoading && !view.problem && <LoadingNote what="experiments" />}
      {total === 0 && !view.problem && <NothingFits />}
      {view.question && (address.group ?? address.series) !== undefined && (
        <Trend question={view.question} catalog={catalog} shown={ids} />
      )}
      {experiments.length > 0 && total !== undefined && (
        <ExperimentTable
          {...{ experiments, total, columns, onAt, onPick, onSeries, onMove }}
          isOld={list.isOld}
          onNearEnd={list.onNearEnd}
          onOpen={open}
        />
      )}
      {pick.length > 0 && (
        <PickBar
          projectId={view.projectId}
          pick={pick}
          loaded={experiments}
          onEdit={setEdited}
          onCompare={compare}
          onClear={() => change({ pick: undefined }, { replace: true })}
        />
      )}
      {edited && <EditExperiment experiment={edited} onClose={() => setEdited(undefined)} />}
    </>
  );
}

const noPick: readonly string[] = [];

/** The name is always there: a row is opened by it. */
const withName = (columns: readonly CatalogColumn[], catalog: readonly CatalogColumn[]): CatalogColumn[] =>
  columns.some(({ id }) => id === 'name') ? [...columns] : [...catalog.filter(({ id }) => id === 'name'), ...columns];

function NothingFits() {
  const [, change] = useExperimentsAddress();
  return (
    <p className={styles.nothing}>
      No experiments fit this filter.{' '}
      <button type="button" onClick={() => change({ q: undefined, group: undefined, series: undefined })}>
        Show all
      </button>
    </p>
  );
}
