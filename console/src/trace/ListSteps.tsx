import { useNavigate } from '@tanstack/react-router';
import type { ListAddress } from '../address/listAddress.ts';
import { sentenceOf } from '../parts/ErrorNote.tsx';
import { countText } from '../parts/format.ts';
import { useKeys } from '../parts/useKeys.ts';
import { tracePage } from '../records/recordPage.ts';
import styles from './TracePage.module.css';
import { type Neighbours, useNeighbours } from './useNeighbours.ts';

/** Leads to the previous and the next record of the list that the trace was opened from. They take its place in the history: Back leads to the list. */
export function ListSteps({ projectId, list }: { projectId: string; list: ListAddress }) {
  const navigate = useNavigate({ from: '/p/$projectId/traces/$traceId' });
  const neighbours = useNeighbours(projectId, list);
  const { place, previous, next } = neighbours;
  const go = (record: typeof next, at: number) => {
    if (!record) return;
    const span = list.kind === 'spans' ? record.id : undefined;
    const { search, ...page } = tracePage(projectId, span ? String(record.trace_id) : record.id, span, { ...list, at });
    void navigate({ ...page, search: (before) => ({ ...before, ...search }), replace: true });
  };
  const goBack = () => place && go(previous, place.at - 1);
  const goOn = () => place && go(next, place.at + 1);
  useKeys({ '[': goBack, ']': goOn });
  const noun = list.kind === 'spans' ? 'span' : 'trace';
  return (
    <nav className={styles.steps} aria-label="The list it was opened from">
      <button type="button" disabled={!previous} onClick={goBack}>
        Previous {noun} <kbd>[</kbd>
      </button>
      <button type="button" disabled={!next} onClick={goOn}>
        Next {noun} <kbd>]</kbd>
      </button>
      <span role="status" className="quiet">
        {noteOf(neighbours)}
      </span>
    </nav>
  );
}

function noteOf({ place, error, isReading }: Neighbours): string {
  if (place) return `${countText(place.at + 1)} of ${countText(place.total)} in the list`;
  if (error) return `The list cannot be read: ${sentenceOf(error)}`;
  return isReading ? '' : 'It is not among the first 10,000 of the list now';
}
