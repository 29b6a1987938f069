import type { StoredRecord } from './record.ts';
import type { LoggedRecord } from './recordChange.ts';

// A trace whose root has not come is opened by the highest of its spans. Spans that come later may stand higher, and the root takes its place at last. What
// was logged to the trace under its id, such as scores, ratings, tags and updates, stays.

/** Metadata of a trace: the spans that its input and its output are taken from, where its root says none, and the one that opened it without its root. */
export const INPUT_FROM = 'otel.input_span_id';
export const OUTPUT_FROM = 'otel.output_span_id';
export const OPENED_BY = 'otel.opened_by_span_id';

const isEmpty = (value: unknown): boolean => value === undefined || value === null || value === '';

interface OnTop {
  stored: StoredRecord;
  given: LoggedRecord;
}

/**
 * Puts a logged record of a trace on top of the stored one, where that or the stored one is of spans without their root; undefined where it changes nothing.
 * - Spans around those that opened the trace open it anew; of others the first input and the last output count.
 * - The root takes the place of all of them. Where it says no input or output, theirs stay.
 */
export function onTopOf(stored: StoredRecord, given: LoggedRecord): OnTop | undefined {
  if (!given.is_provisional) return stored.is_provisional ? rootOn(stored, given) : { stored, given };
  const isAround =
    given.created_at !== undefined && given.created_at <= stored.created_at && endOf(given) >= endOf(stored as Timed);
  if (stored.is_provisional && isAround) return rootOn(stored, given);
  const later = besides(stored, given);
  return later && { stored, given: later };
}

function rootOn(stored: StoredRecord, given: LoggedRecord): OnTop {
  const { input, ...others } = given;
  const said = stored.user_metadata ?? {};
  const keepsInput = !isEmpty(stored.input) && (isEmpty(input) || !isEmpty(given.user_metadata?.[INPUT_FROM]));
  const keepsOutput = !isEmpty(stored.output) && isEmpty(given.output);
  const { duration_ns, ...scores } = stored.metrics ?? {};
  const isUpdated = stored.updated_fields?.includes('duration_ns') === true;
  const from = (name: string) => ({ [name]: said[name] ?? said[OPENED_BY] ?? '' });
  return {
    stored: {
      ...stored,
      user_metadata: {},
      metrics: isUpdated ? { ...scores, duration_ns } : scores,
      is_provisional: given.is_provisional === true,
    },
    given: {
      ...others,
      ...(keepsInput ? {} : { input }),
      user_metadata: {
        ...given.user_metadata,
        ...(keepsInput ? from(INPUT_FROM) : {}),
        ...(keepsOutput ? from(OUTPUT_FROM) : {}),
      },
    } as LoggedRecord,
  };
}

/** Returns what spans add that are not around those that the trace has. */
function besides(stored: StoredRecord | LoggedRecord, given: LoggedRecord): LoggedRecord | undefined {
  const said = given.user_metadata ?? {};
  const isLater = stored.is_provisional === true && endOf(given) > endOf(stored);
  const takesInput = isEmpty(stored.input) && !isEmpty(given.input);
  const takesOutput = !isEmpty(given.output) && (isEmpty(stored.output) || isLater);
  if (!takesInput && !takesOutput) return undefined;
  const from = (name: string) => ({ [name]: said[name] ?? said[OPENED_BY] ?? '' });
  return {
    id: given.id,
    type: given.type,
    trace_id: given.trace_id,
    ...(stored.is_provisional ? { is_provisional: true } : {}),
    ...(takesInput ? { input: given.input } : {}),
    ...(takesOutput ? { output: given.output } : {}),
    user_metadata: { ...(takesInput ? from(INPUT_FROM) : {}), ...(takesOutput ? from(OUTPUT_FROM) : {}) },
    ...(isLater ? { metrics: { duration_ns: Math.round((endOf(given) - startOf(stored)) * 1000) } } : {}),
  } as LoggedRecord;
}

/** Returns one record of two that spans without their root make of a trace: the one that begins first, with the first input and the output that ends last. */
export function togetherOf(one: LoggedRecord, other: LoggedRecord): LoggedRecord {
  const [first, second] = startOf(other) < startOf(one) ? [other, one] : [one, other];
  const added = besides({ ...first, is_provisional: true }, second);
  if (!added) return first;
  return {
    ...first,
    ...added,
    user_metadata: { ...first.user_metadata, ...added.user_metadata },
    ...(added.metrics ? { metrics: { ...first.metrics, ...added.metrics } } : {}),
  };
}

type Timed = Pick<LoggedRecord, 'created_at' | 'metrics'>;

/** Microseconds since 1970. */
const startOf = ({ created_at: at }: Timed): number =>
  at === undefined ? 0 : Date.parse(`${at.slice(0, 19)}Z`) * 1000 + Number(at.slice(20, 26));
const endOf = (record: Timed): number => startOf(record) + Number(record.metrics?.duration_ns ?? 0) / 1000;
