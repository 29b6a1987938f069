import { linkOptions } from '@tanstack/react-router';
import type { ListAddress } from '../address/listAddress.ts';
import type { LogRecord, RecordKind, RecordNode } from '../data/records.ts';

/** The list that a record is opened from, with its place there. */
export type FromList = Omit<ListAddress, 'open'>;

/** The page that a record has to itself: its session, or its trace, in which a span is chosen. Undefined while the trace of a span is not known. */
export function recordPage(
  projectId: string,
  kind: RecordKind,
  id: string,
  record: LogRecord | RecordNode | undefined,
  list: FromList,
) {
  if (kind === 'sessions') return linkOptions({ to: '/p/$projectId/sessions/$sessionId', params: { projectId, sessionId: id } });
  const traceId = kind === 'traces' ? id : record?.trace_id;
  return typeof traceId === 'string' ? tracePage(projectId, traceId, kind === 'spans' ? id : undefined, list) : undefined;
}

/** The page of a trace, in which a span is chosen where one is opened. */
export const tracePage = (projectId: string, traceId: string, span: string | undefined, list: FromList) =>
  linkOptions({
    to: '/p/$projectId/traces/$traceId',
    params: { projectId, traceId },
    search: { span, list: { ...list, open: span ?? traceId } },
  });
