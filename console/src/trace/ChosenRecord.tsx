import { useQuery } from '@tanstack/react-query';
import { memo, useEffect, useEffectEvent } from 'react';
import type { DetailTab } from '../address/traceAddress.ts';
import { type RunOf, recordQuery } from '../data/records.ts';
import { kindOf, readAhead } from '../data/trace.ts';
import type { OutlineRow } from './outline.ts';
import { PendingRecord } from './PendingRecord.tsx';
import { RecordDetail } from './RecordDetail.tsx';

interface Props {
  row: OutlineRow;
  /** Rows that keys lead to from here: they are read when this one is there. */
  likelyNext: readonly OutlineRow[];
  run: RunOf;
  tab: DetailTab | undefined;
  onTab(tab: DetailTab | undefined): void;
}

/** The record of a row, read when it is chosen. Until it is there, what the outline says of it. */
export const ChosenRecord = memo(function ChosenRecord({ row, likelyNext, run, tab, onTab }: Props) {
  const { projectId } = run;
  const { data: record, error, refetch } = useQuery(recordQuery(projectId, kindOf(row.type), row.id));
  const isThere = record !== undefined;
  const readNext = useEffectEvent(() => readAhead(projectId, likelyNext));
  useEffect(() => {
    if (isThere) readNext();
  }, [isThere]);
  if (record) return <RecordDetail record={record} run={run} hasKeys tab={tab} onTab={onTab} />;
  return <PendingRecord row={row} error={error} onRetry={() => void refetch()} onTab={onTab} />;
});
