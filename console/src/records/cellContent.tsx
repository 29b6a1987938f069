import { isFailure } from '../../../shared/records/failed.ts';
import { costText, countText, durationText, lineText, numberText, UNKNOWN } from '../parts/format.ts';
import { KindMark } from '../parts/KindMark.tsx';
import type { Preferences } from '../parts/preferences.ts';
import { timeIn } from '../parts/Time.tsx';
import type { PlacedColumn } from './columnLayout.ts';

/** A value of a column as it is read on one line. */
export function contentOf({ id, type, most }: PlacedColumn, value: unknown, zone: Preferences['zone']) {
  if (id === 'type') return <KindMark kind={String(value)} />;
  if (id === 'status_code') return <StatusMark code={value} />;
  if (id.endsWith('_ns')) return durationText(value);
  if (id === 'metrics/cost') return costText(value);
  if (id.includes('tokens')) return countText(value);
  if (value === null || value === undefined) return <span className="quiet">{UNKNOWN}</span>;
  if (type === 'timestamp') return timeIn(String(value), zone);
  if (typeof value === 'number' || typeof value === 'bigint') return numberText(value);
  if (typeof value === 'boolean') return value ? 'true' : 'false';
  if ((type === 'string_list' || type === 'boolean') && Array.isArray(value)) return value.join(', ');
  return lineText(messagesText(value), most);
}

/** Returns the text of the last message: an input's question, an output's answer. */
function messagesText(value: unknown): unknown {
  const last = Array.isArray(value) ? value.at(-1) : value;
  const content = (last as { content?: unknown } | null | undefined)?.content;
  return typeof content === 'string' && content !== '' ? content : value;
}

function StatusMark({ code }: { code: unknown }) {
  if (typeof code !== 'number') return <span className="quiet">{UNKNOWN}</span>;
  return <span className={isFailure({ status_code: code }) ? 'bad' : undefined}>{code}</span>;
}
