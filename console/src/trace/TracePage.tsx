import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import type { TraceOutline } from '../../../shared/wire/traceOutline.ts';
import type { TraceAddress } from '../address/traceAddress.ts';
import { outlineQuery } from '../data/trace.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { LoadingNote } from '../parts/notes.tsx';
import { useKeys } from '../parts/useKeys.ts';
import { ChosenRecord } from './ChosenRecord.tsx';
import { FindInTrace } from './FindInTrace.tsx';
import { KindsMenu } from './KindsMenu.tsx';
import { nextPlace, type OutlineRow, openPlaces, outlineRows, slowestPlace } from './outline.ts';
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
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!outline) return <LoadingNote what="the trace" />;
  return <Trace key={traceId} projectId={projectId} outline={outline} />;
}

function Trace({ projectId, outline }: { projectId: string; outline: TraceOutline }) {
  const address = useSearch({ from });
  const navigate = useNavigate({ from: '/p/$projectId/traces/$traceId' });
  const change = (changed: Partial<TraceAddress>) =>
    void navigate({ search: (before) => ({ ...before, ...changed }), replace: true, resetScroll: false });
  const rows = useMemo(() => outlineRows(outline), [outline]);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const hidden = address.hide ?? nothing;
  const places = useMemo(() => openPlaces(rows, closed, hidden), [rows, closed, hidden]);
  const placeOf = useMemo(() => new Map(rows.map(({ id }, place) => [id, place])), [rows]);
  const at = placeOf.get(address.span ?? '') ?? 0;
  const chosen = rows[at];
  const failures = useMemo(() => rows.filter(isFailed).length, [rows]);
  const found = useFound(projectId, outline, rows, address.find);

  const choose = (place: number) => {
    const row = rows[place];
    if (!row) return;
    // Whatever it lies below is opened.
    const above = new Set<string>();
    for (let { parent } = row; parent >= 0; parent = rows[parent]?.parent ?? -1) above.add(rows[parent]?.id ?? '');
    if ([...above].some((id) => closed.has(id))) setClosed(new Set([...closed].filter((id) => !above.has(id))));
    change({ span: place === 0 ? undefined : row.id });
  };
  const step = (by: number) => places[places.indexOf(at) + by] ?? at;
  const fold = (ids: readonly string[], isClosed: boolean) =>
    setClosed(isClosed ? new Set([...closed, ...ids]) : new Set([...closed].filter((id) => !ids.includes(id))));
  const toggle = (id: string, isClosed: boolean) => fold([id], isClosed);
  const placeOfFailure = nextPlace(rows, at, isFailed);
  const placeOfSlowest = useMemo(() => slowestPlace(rows), [rows]);
  const nextFailure = () => choose(placeOfFailure);
  const slowest = () => choose(placeOfSlowest);
  const next = () => choose(step(1));
  const previous = () => choose(step(-1));
  useKeys({
    ...{ j: next, k: previous, ArrowDown: next, ArrowUp: previous, e: nextFailure, s: slowest },
    ArrowLeft: () =>
      chosen && chosen.size > 0 && !closed.has(chosen.id) ? toggle(chosen.id, true) : choose(chosen?.parent ?? 0),
    ArrowRight: () => chosen && toggle(chosen.id, false),
  });
  return (
    <div className={styles.page}>
      <div className={styles.head}>
        <TraceFigures {...{ projectId, outline, rows, failures }} />
        <div className={styles.tools}>
          <FindInTrace
            text={address.find}
            found={found}
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
        {chosen && (
          <ChosenRecord
            key={chosen.id}
            row={chosen}
            likelyNext={[step(1), step(-1), placeOfFailure, placeOfSlowest].flatMap((place) => rows[place] ?? [])}
            run={{ projectId, runId: outline.run_id, isExperiment: false }}
            tab={address.tab}
            onTab={(tab) => change({ tab })}
          />
        )}
      </div>
    </div>
  );
}
