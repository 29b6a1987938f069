import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useCallback, useDeferredValue, useMemo, useState } from 'react';
import type { TraceOutline } from '../../../shared/wire/traceOutline.ts';
import type { DetailTab, TraceAddress } from '../address/traceAddress.ts';
import { useProjectName } from '../data/projectName.ts';
import { outlineQuery } from '../data/trace.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { lineText } from '../parts/format.ts';
import { LoadingNote } from '../parts/notes.tsx';
import { say } from '../parts/notice.ts';
import { useTextOver } from '../parts/useDraft.ts';
import { useKeys } from '../parts/useKeys.ts';
import { useTitle } from '../parts/useTitle.ts';
import { ChosenRecord } from './ChosenRecord.tsx';
import { FindInTrace } from './FindInTrace.tsx';
import { KindsMenu } from './KindsMenu.tsx';
import { ListSteps } from './ListSteps.tsx';
import { folded, nextPlace, type OutlineRow, openPlaces, outlineRows, slowestPlace } from './outline.ts';
import { TraceFigures } from './TraceFigures.tsx';
import styles from './TracePage.module.css';
import { TraceTree } from './TraceTree.tsx';
import { useFound } from './useFound.ts';

const nothing: readonly string[] = [];
const from = '/signed in/p/$projectId/traces/$traceId';
const isFailed = (row: OutlineRow) => row.isFailed;

/** A trace: its tree with the times on the left, the chosen span on the right. */
export function TracePage() {
  const { projectId, traceId } = useParams({ from });
  const { data: outline, error, refetch } = useQuery(outlineQuery(projectId, traceId));
  useTitle(lineText(outline?.columns.name[0] || 'Trace', 120), useProjectName(projectId));
  const { list } = useSearch({ from });
  const noList = () => say('This trace was opened without a list: [ and ] lead on where a table of records led here');
  useKeys(list ? {} : { '[': noList, ']': noList });
  return (
    <div className={styles.page}>
      {list && <ListSteps {...{ projectId, list }} />}
      {error ? (
        <ErrorNote error={error} onRetry={() => void refetch()} />
      ) : outline ? (
        <Trace key={traceId} projectId={projectId} outline={outline} />
      ) : (
        <LoadingNote what="the trace" />
      )}
    </div>
  );
}

function Trace({ projectId, outline }: { projectId: string; outline: TraceOutline }) {
  const address = useSearch({ from });
  const navigate = useNavigate({ from: '/p/$projectId/traces/$traceId' });
  const change = useCallback(
    (changed: Partial<TraceAddress>) =>
      void navigate({ search: (before) => ({ ...before, ...changed }), replace: true, resetScroll: false }),
    [navigate],
  );
  const rows = useMemo(() => outlineRows(outline), [outline]);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const hidden = address.hide ?? nothing;
  const places = useMemo(() => openPlaces(rows, closed, hidden), [rows, closed, hidden]);
  const placeOf = useMemo(() => new Map(rows.map(({ id }, place) => [id, place])), [rows]);
  const at = placeOf.get(address.span ?? '') ?? 0;
  const chosen = rows[at];
  // Its row is marked before the record is laid out.
  const shownAt = useDeferredValue(at);
  const shown = rows[shownAt];
  const failures = useMemo(() => rows.filter(isFailed).length, [rows]);
  const [typed, setTyped] = useTextOver(`find in ${outline.trace_id}`, address.find ?? '');
  const wanted = typed || undefined;
  const found = useFound(projectId, outline, rows, wanted);

  const fold = useCallback(
    (ids: readonly string[], isClosed: boolean) => setClosed((before) => folded(before, ids, isClosed)),
    [],
  );
  const toggle = useCallback((id: string, isClosed: boolean) => fold([id], isClosed), [fold]);
  const choose = useCallback(
    (place: number) => {
      const row = rows[place];
      if (!row) return;
      // Whatever it lies below is opened.
      const above: string[] = [];
      for (let { parent } = row; parent >= 0; parent = rows[parent]?.parent ?? -1) above.push(rows[parent]?.id ?? '');
      fold(above, false);
      change({ span: place === 0 ? undefined : row.id });
    },
    [rows, fold, change],
  );
  const step = (by: number) => places[places.indexOf(at) + by] ?? at;
  const placeOfFailure = nextPlace(rows, at, isFailed);
  const placeOfSlowest = useMemo(() => slowestPlace(rows), [rows]);
  const nextFailure = () => choose(placeOfFailure);
  const slowest = () => choose(placeOfSlowest);
  const [after, before] = [step(1), step(-1)];
  const likelyNext = useMemo(
    () => [after, before, placeOfFailure, placeOfSlowest].flatMap((place) => rows[place] ?? []),
    [after, before, placeOfFailure, placeOfSlowest, rows],
  );
  const run = useMemo(() => ({ projectId, runId: outline.run_id, isExperiment: false }), [projectId, outline.run_id]);
  const onTab = useCallback((tab: DetailTab | undefined) => change({ tab }), [change]);
  const next = () => choose(step(1));
  const previous = () => choose(step(-1));
  useKeys({
    ...{ j: next, k: previous, ArrowDown: next, ArrowUp: previous, e: nextFailure, s: slowest },
    ArrowLeft: () =>
      chosen && chosen.size > 0 && !closed.has(chosen.id) ? toggle(chosen.id, true) : choose(chosen?.parent ?? 0),
    ArrowRight: () => chosen && toggle(chosen.id, false),
  });
  return (
    <>
      <div className={styles.head}>
        <TraceFigures {...{ projectId, outline, rows, failures }} />
        <div className={styles.tools}>
          <FindInTrace
            text={wanted}
            found={found}
            onType={setTyped}
            onFind={(text) => change({ find: text })}
            onNext={(ids) => choose(nextPlace(rows, at, ({ id }) => ids.has(id)))}
          />
          <button type="button" disabled={failures === 0} onClick={nextFailure}>
            Next failure <kbd>e</kbd>
          </button>
          <button type="button" onClick={slowest}>
            Slowest <kbd>s</kbd>
          </button>
          <KindsMenu
            {...{ rows, hidden }}
            onHidden={(kinds) => change({ hide: kinds.length > 0 ? kinds : undefined })}
            onFold={fold}
          />
        </div>
      </div>
      <div className={styles.split}>
        <TraceTree {...{ rows, places, at, closed }} found={found.ids} onChoose={choose} onToggle={toggle} />
        {shown && <ChosenRecord key={shown.id} row={shown} likelyNext={likelyNext} run={run} tab={address.tab} onTab={onTab} />}
      </div>
    </>
  );
}
