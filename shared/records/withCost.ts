import { hasOwnColumn } from '../columns/systemMetrics.ts';
import type { PricedCall, Prices } from '../prices/openPrices.ts';
import { isSpanKind } from '../wire/recordKinds.ts';
import type { StoredRecord } from './record.ts';

/** The prices of model calls: refreshed once for each group of writes, and read for each call. */
export type CallPrices = Pick<Prices, 'fresh' | 'costOf'>;

/** Model calls have the costs that were logged with them, and no others. */
export const noPrices: CallPrices = { fresh: async () => {}, costOf: () => null };

/**
 * The record with what its model call cost. A cost that was logged wins; else it is the price of the call, which stays as it was when the call was
 * stored, unless a later write says that the call was another one: another model, or other tokens.
 * @param stored what was stored under its id before
 * @param logged metrics that the write gives, in their order
 */
export function withCost(
  record: StoredRecord,
  stored: StoredRecord | undefined,
  logged: readonly (Readonly<Record<string, unknown>> | null | undefined)[],
  { costOf }: Pick<CallPrices, 'costOf'>,
): StoredRecord {
  if (!isSpanKind(record.type)) return record;
  if (record.type !== 'llm' && !record.model && !hasOwnColumn('cost', record.metrics?.cost))
    return record.cost_source ? withoutPrice(record) : record;
  if (logged.some((metrics) => hasOwnColumn('cost', metrics?.cost))) return { ...record, cost_source: 'logged' };
  const metrics = record.metrics ?? {};
  if (hasOwnColumn('cost', metrics.cost) && record.cost_source !== 'price') return record;
  const call = callOf(record);
  if (stored?.type === record.type && isSameCall(call, callOf(stored)) && (stored.cost_source ?? 'price') === 'price')
    return sameCost(record, stored);
  return priced(record, call === undefined ? null : costOf(call));
}

function priced(record: StoredRecord, cost: number | null): StoredRecord {
  if (cost === null) return record.cost_source ? withoutPrice(record) : record;
  return { ...record, metrics: { ...record.metrics, cost }, cost_source: 'price' };
}

/** A record keeps its stored cost: a call that had no price when it was first written gets none now. */
const sameCost = (record: StoredRecord, { metrics }: StoredRecord): StoredRecord =>
  priced(record, hasOwnColumn('cost', metrics?.cost) ? metrics.cost : null);

function withoutPrice({ cost_source, ...record }: StoredRecord): StoredRecord {
  if (cost_source === 'logged') return record;
  const { cost: _, ...metrics } = record.metrics ?? {};
  return { ...record, metrics };
}

/** Undefined where the record names no model. */
function callOf({ model, metrics, created_at: at }: StoredRecord): PricedCall | undefined {
  if (!model) return undefined;
  const tokens = (name: string): number | undefined => {
    const value = metrics?.[name];
    return hasOwnColumn(name, value) ? value : undefined;
  };
  return {
    model,
    at,
    inputTokens: tokens('num_input_tokens'),
    outputTokens: tokens('num_output_tokens'),
    cachedInputTokens: tokens('num_cached_input_tokens'),
    cacheWriteTokens: tokens('num_cache_write_input_tokens'),
    audioInputTokens: tokens('num_audio_input_tokens'),
    imageInputTokens: tokens('num_image_input_tokens'),
    reasoningTokens: tokens('num_reasoning_output_tokens'),
    audioOutputTokens: tokens('num_audio_output_tokens'),
    imageOutputTokens: tokens('num_image_output_tokens'),
  };
}

function isSameCall(one: PricedCall | undefined, other: PricedCall | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return (Object.keys(one) as (keyof PricedCall)[]).every((name) => one[name] === other[name]);
}
