import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { jsonWithBigInts } from '../../../shared/wire/longNumbers.ts';
import type { TraceAddress } from '../address/traceAddress.ts';
import { traceQuery } from '../data/records.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { costText, countText, durationText } from '../parts/format.ts';
import { LoadingNote } from '../parts/notes.tsx';
import { Time } from '../parts/Time.tsx';
import { useKeys } from '../parts/useKeys.ts';
import { KindsMenu } from './KindsMenu.tsx';
import { nextPlace, openPlaces, outlineOf, slowestPlace } from './outline.ts';
import { RecordDetail } from './RecordDetail.tsx';
import styles from './TracePage.module.css';
import { TraceTree } from './TraceTree.tsx';

const nothing: readonly string[] = [];
const from = '/signed in/p/$projectId/traces/$traceId';

/** A trace: its tree with the times on the left, the chosen span on the right. */
export function TracePage() {
  const { projectId, traceId } = useParams({ from });
  const { data: trace, error, refetch } = useQuery(traceQuery(projectId, traceId));
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!trace) return <LoadingNote what="the trace" />;
  return <Trace key={traceId} projectId={projectId} trace={trace} />;
}

function Trace({ projectId, trace }: { projectId: string; trace: Parameters<typeof outlineOf>[0] }) {
  const address = useSearch({ from });
  const navigate = useNavigate({ from: '/p/$projectId/traces/$traceId' });
  const change = (changed: Partial<TraceAddress>, replace: boolean) =>
    void navigate({ search: (before) => ({ ...before, ...changed }), replace });
  const rows = useMemo(() => outlineOf(trace), [trace]);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const hidden = address.hide ?? nothing;
  const places = useMemo(() => openPlaces(rows, closed, hidden), [rows, closed, hidden]);
  const at = Math.max(
    0,
    rows.findIndex(({ node }) => node.id === address.span),
  );
  const chosen = rows[at];
  const failures = useMemo(() => rows.filter(({ isFailed }) => isFailed).length, [rows]);

  const choose = (place: number) => {
    const row = rows[place];
    if (!row) return;
    // Whatever it lies below is opened.
    const above = new Set<string>();
    for (let parent = row.parent; parent >= 0; parent = rows[parent]?.parent ?? -1) above.add(rows[parent]?.node.id ?? '');
    if ([...above].some((id) => closed.has(id))) setClosed(new Set([...closed].filter((id) => !above.has(id))));
    change({ span: place === 0 ? undefined : row.node.id }, true);
  };
  const move = (step: number) => choose(places[places.indexOf(at) + step] ?? at);
  const fold = (ids: readonly string[], isClosed: boolean) =>
    setClosed(isClosed ? new Set([...closed, ...ids]) : new Set([...closed].filter((id) => !ids.includes(id))));
  const toggle = (id: string, isClosed: boolean) => fold([id], isClosed);
  const findNext = (text: string) => choose(nextPlace(rows, at, ({ node }) => fits(node, text)));
  const nextFailure = () => choose(nextPlace(rows, at, ({ isFailed }) => isFailed));
  const slowest = () => choose(slowestPlace(rows));
  useKeys({
    ...{ j: () => move(1), k: () => move(-1), ArrowDown: () => move(1), ArrowUp: () => move(-1), e: nextFailure, s: slowest },
    ArrowLeft: () =>
      chosen && chosen.size > 0 && !closed.has(chosen.node.id) ? toggle(chosen.node.id, true) : choose(chosen?.parent ?? 0),
    ArrowRight: () => chosen && toggle(chosen.node.id, false),
  });
  const run = { projectId, runId: String(trace.run_id), isExperiment: false };
  const metrics = (trace.metrics ?? {}) as Record<string, unknown>;
  return (
    <div className={styles.page}>
      <div className={styles.head}>
        <h1>{String(trace.name ?? 'trace')}</h1>
        <p className={styles.figures}>
          <Time at={String(trace.created_at)} />
          <span>{countText(rows.length - 1)} spans</span>
          <span>{durationText(metrics.duration_ns)}</span>
          <span>
            {countText(metrics.num_input_tokens)} → {countText(metrics.num_output_tokens)} tokens
          </span>
          <span>{costText(metrics.cost)}</span>
          {failures > 0 && <span className="bad">{countText(failures)} failed</span>}
          {typeof trace.session_id === 'string' && trace.session_id !== trace.id && (
            <Link to="/p/$projectId/sessions/$sessionId" params={{ projectId, sessionId: trace.session_id }}>
              Session
            </Link>
          )}
        </p>
        <div className={styles.tools}>
          <input
            type="search"
            aria-label="Find in the trace"
            placeholder="Find, then Enter"
            defaultValue={address.find ?? ''}
            onKeyDown={(event) => {
              if (event.key !== 'Enter') return;
              change({ find: event.currentTarget.value || undefined }, true);
              findNext(event.currentTarget.value);
            }}
          />
          <button type="button" disabled={failures === 0} onClick={nextFailure}>
            Next failure <kbd>e</kbd>
          </button>
          <button type="button" onClick={slowest}>
            Slowest <kbd>s</kbd>
          </button>
          <KindsMenu
            {...{ rows, hidden }}
            onHidden={(kinds) => change({ hide: kinds.length > 0 ? kinds : undefined }, true)}
            onFold={fold}
          />
        </div>
      </div>
      <div className={styles.split}>
        <TraceTree {...{ rows, places, at, closed }} onChoose={choose} onToggle={toggle} />
        {chosen && (
          <RecordDetail
            key={chosen.node.id}
            record={chosen.node}
            run={run}
            hasKeys
            tab={address.tab}
            onTab={(tab) => change({ tab }, true)}
          />
        )}
      </div>
    </div>
  );
}

/** Whether a record's name, kind, model, input or output has the text, in any case of letters. */
function fits(node: Record<string, unknown>, text: string): boolean {
  const wanted = text.toLowerCase();
  return ['name', 'type', 'model', 'id', 'error_message', 'input', 'output'].some((key) => {
    const value = node[key];
    if (value === null || value === undefined) return false;
    const written = typeof value === 'string' ? value : jsonWithBigInts(value);
    return written.toLowerCase().includes(wanted);
  });
}
