import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, memo, type PointerEvent, useState } from 'react';
import { histogramQuery, type RecordHistogram } from '../data/histogram.ts';
import type { RecordsQuestion } from '../data/records.ts';
import { countText, timeText } from '../parts/format.ts';
import { usePreferences } from '../parts/preferences.ts';
import { useSteady } from '../parts/useSteady.ts';
import styles from './Histogram.module.css';
import { momentOf, useChangeAddress, useInAddress } from './useRecordsView.ts';

/** Times are written with their days. */
const LONG_AGO = new Date(0);
const DAY = 'yyyy-mm-dd'.length;

/** Places of the first and last bucket that are marked. */
interface Brush {
  from: number;
  to: number;
}

interface Props {
  question: RecordsQuestion;
  /** The records themselves are still asked for: the bars would make them come later. */
  waits: boolean;
}

/** When records were logged and when they failed. Dragging over it, or Shift with the arrows and Enter, narrows the times. */
export const Histogram = memo(function Histogram({ question, waits }: Props) {
  const from = useInAddress('from');
  const to = useInAddress('to');
  const change = useChangeAddress();
  const times = { start: momentOf(from), end: momentOf(to) };
  const { data, isPlaceholderData: isOld } = useQuery({ ...histogramQuery(question, times), enabled: !waits });
  const choose = useSteady(({ from: one, to: other }: Brush) => {
    if (isOld) return; // a choice among the bars before would be another than the one that is meant
    const first = data?.buckets[Math.min(one, other)];
    const last = data?.buckets[Math.max(one, other)];
    if (first && last) change({ from: first.start_time, to: last.end_time, open: undefined });
  });
  // Its room is kept, so that the table below stays where it is.
  if (!data) return <div className={styles.waiting} />;
  if (data.count === 0 || data.buckets.length < 2) return null;
  return <Bars key={`${from} ${to}`} histogram={data} isOld={isOld} onChoose={choose} />;
});

interface BarsProps {
  histogram: RecordHistogram;
  /** It still answers the question before. */
  isOld: boolean;
  onChoose(brush: Brush): void;
}

const Bars = memo(function Bars({ histogram: { buckets }, isOld, onChoose }: BarsProps) {
  const { zone } = usePreferences();
  const [brush, setBrush] = useState<Brush>();
  const [isDragging, setDragging] = useState(false);
  const most = Math.max(1, ...buckets.map(({ count }) => count));
  const placeOf = ({ currentTarget, clientX }: PointerEvent) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return Math.min(buckets.length - 1, Math.max(0, Math.floor(((clientX - left) / width) * buckets.length)));
  };
  const onPointerDown = (event: PointerEvent<HTMLDivElement>) => {
    event.currentTarget.setPointerCapture(event.pointerId);
    setDragging(true);
    setBrush({ from: placeOf(event), to: placeOf(event) });
  };
  const onPointerMove = (event: PointerEvent<HTMLDivElement>) => {
    const at = placeOf(event);
    setBrush(isDragging && brush ? { ...brush, to: at } : { from: at, to: at });
  };
  const onPointerUp = () => {
    setDragging(false);
    if (brush) onChoose(brush);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (event.key === 'Enter' && brush) onChoose(brush);
    else if (step === 0) return;
    const at = Math.min(buckets.length - 1, Math.max(0, (brush?.to ?? -1) + step));
    if (step !== 0) setBrush(event.shiftKey && brush ? { ...brush, to: at } : { from: at, to: at });
    event.preventDefault();
  };
  const [first, last] = brush ? [Math.min(brush.from, brush.to), Math.max(brush.from, brush.to)] : [0, buckets.length - 1];
  const marked = buckets.slice(first, last + 1);
  const sum = (key: 'count' | 'errors') => marked.reduce((all, one) => all + one[key], 0);
  const moments = [marked[0]?.start_time, marked.at(-1)?.end_time].map((text) => timeText(text ?? '', zone, LONG_AGO));
  const [start = '', end = ''] = moments;
  const isOneDay = start.slice(0, DAY) === end.slice(0, DAY);
  const said = `${start} – ${isOneDay ? end.slice(DAY + 1) : end}: ${countText(sum('count'))}${sum('errors') > 0 ? `, ${countText(sum('errors'))} failed` : ''}`;
  return (
    <div className={styles.histogram}>
      <div
        role="slider"
        aria-label="Records over time"
        aria-valuemin={0}
        aria-valuemax={buckets.length - 1}
        aria-valuenow={brush?.to ?? 0}
        aria-valuetext={said}
        aria-busy={isOld}
        tabIndex={0}
        className={styles.bars}
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
        onPointerUp={onPointerUp}
        onPointerLeave={() => !isDragging && setBrush(undefined)}
        onKeyDown={onKeyDown}
      >
        <svg viewBox={`0 0 ${buckets.length} 100`} preserveAspectRatio="none" aria-hidden="true">
          {brush && <rect className={styles.brush} x={first} width={last - first + 1} y={0} height={100} />}
          <path className={styles.all} d={barsOf(buckets.map(({ count }) => count / most))} />
          <path className={styles.failed} d={barsOf(buckets.map(({ errors }) => errors / most))} />
        </svg>
      </div>
      <p className={styles.said}>{said}</p>
    </div>
  );
});

/** The shape of all bars: as elements of their own they take longer to build than all else that a filter changes. */
const barsOf = (shares: readonly number[]): string =>
  shares.map((share, at) => (share === 0 ? '' : `M${at + 0.1} 100v${-Math.max(3, share * 96)}h.8V100z`)).join('');
