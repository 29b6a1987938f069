import type { Score, ScoredRecord } from '../../metrics/metric.ts';
import type { Check } from '../../wire/checks.ts';

/**
 * Compares the cost of the spans below a record, or else its own, with a limit. A cost that is not known can only add to the others: what they come to may be
 * over the limit already.
 */
export const costCheck =
  ({ max_usd }: Extract<Check, { type: 'cost' }>) =>
  (record: ScoredRecord): Score => {
    const counted = (record.spans ?? []).filter(({ countsCost }) => countsCost);
    const costs = counted.length > 0 ? counted.map(({ costUsd }) => costUsd) : [record.costUsd];
    const known = costs.filter((cost) => typeof cost === 'number');
    const unknown = costs.length - known.length;
    const usd = known.reduce((sum, cost) => sum + cost, 0);
    if (usd <= max_usd && counted.length === 0 && unknown > 0) return { notApplicable: 'the cost of the record is not known' };
    if (usd <= max_usd && unknown > 0)
      return { notApplicable: `the cost of ${unknown} of ${costs.length} model calls is not known` };
    const missing = unknown > 0 ? { calls_of_unknown_cost: unknown } : {};
    const metadata = { usd, ...missing };
    if (usd <= max_usd) return { value: true, metadata };
    return { value: false, explanation: `it cost ${Number(usd.toPrecision(6))} US dollars, and may cost ${max_usd}`, metadata };
  };
