import type { LoggedSpan } from '../recordSchemas/loggedRecords.ts';
import { isObject } from '../wire/isObject.ts';
import { textOf } from '../wire/textOf.ts';
import { canonicalTime } from '../wire/time.ts';
import type { RowResult } from './rowTrace.ts';

/** The result of a row as a runner gives it. Anybody writes runners, so no part of it needs to have the form that it should have. */
export type GivenResult = { [K in keyof RowResult]?: unknown };

/** Characters of an error that are kept. */
export const MAX_ERROR_CHARACTERS = 10_000;

/**
 * A result in the form of one, whatever the runner gave. Values of another form become text: where their place takes no text, they are in `asText`
 * under their names. A result in this form stays as it is.
 */
export function recordableResult(given: GivenResult, now = new Date()): RowResult & { asText: Record<string, string> } {
  const { output, error, spans, startedAt, durationNs, localMetrics, tags } = given;
  const asText = { ...(given.asText as Record<string, string> | undefined) };
  const aside = (name: string, value: unknown): undefined => {
    if (value !== undefined && value !== null) asText[name] = textOf(value).slice(0, MAX_ERROR_CHARACTERS);
  };
  const attempts = Number.isSafeInteger(given.attempts) ? (given.attempts as number) : null;
  const duration = typeof durationNs === 'number' && durationNs >= 0 ? Math.round(durationNs) : Number.NaN;
  const isMeasured = Number.isSafeInteger(duration);
  if (!isMeasured) aside('duration_ns', durationNs);
  const start = timeOf(startedAt);
  if (!start) aside('started_at', startedAt);
  const failed = error !== undefined && error !== null && error !== '' && error !== false;
  return {
    output: output === undefined || output === null ? null : textOf(output),
    ...(failed ? { error: textOf(error).slice(0, MAX_ERROR_CHARACTERS) } : {}),
    spans: Array.isArray(spans) ? (spans as LoggedSpan[]) : (aside('spans', spans) ?? []),
    startedAt: start ?? new Date(now.getTime() - (isMeasured ? Math.min(duration / 1e6, MAX_BACK_MS) : 0)),
    durationNs: isMeasured ? duration : null,
    attempts,
    ...(isObject(localMetrics) ? { localMetrics } : (aside('metrics', localMetrics) ?? {})),
    ...(Array.isArray(tags) ? { tags } : tags == null ? {} : { tags: [textOf(tags)] }),
    asText,
  };
}

/** The longest time limit of a row, in milliseconds. */
const MAX_BACK_MS = 86_400_000;

/** A time that a record may have. */
function timeOf(value: unknown): Date | undefined {
  const time = value instanceof Date ? value : typeof value === 'string' ? new Date(canonicalTime(value) ?? value) : undefined;
  if (!time || Number.isNaN(time.getTime()) || canonicalTime(time.toISOString()) === undefined) return undefined;
  return time;
}
