import type { IntegrationStore } from '../integrations/integration.ts';
import { openListPrices } from './listPrices.ts';
import { type AskedPrice, OwnPrices } from './ownPrices.ts';
import { costUsd, type TokenUsage } from './rates.ts';

/** One call of a model: its name in any spelling, and when it was made, as a time of ISO 8601. The price of that time counts. */
export type PricedCall = AskedPrice & TokenUsage;

export type PriceSource = 'integration' | 'list';

export interface Prices {
  /** Resolves when `costOf` goes by prices that are at most {@link FRESH_MS} old. */
  fresh(): Promise<void>;
  /** Returns the cost of a call in US dollars, null where that is not known. */
  costOf(call: PricedCall): number | null;
  /** As `costOf`, with where the price is from: set on an integration, or of the list. */
  pricedCost(call: PricedCall): { usd: number; source: PriceSource } | null;
  /** From now on `costOf` goes by the prices that are stored now. */
  refresh(): Promise<void>;
}

/** A price that was set in another process counts after this time, in milliseconds. */
const FRESH_MS = 5_000;
/** Milliseconds before the end of that time in which a request has prices read anew without waiting for them. */
const RENEWED_MS = 1_000;

/** Opens the prices of model calls: those that integrations set, else those of the list. */
export function openPrices(integrations: Pick<IntegrationStore, 'list'>): Prices {
  const listPrices = openListPrices();
  let own = new OwnPrices([]);
  let until = 0;
  let loads = 0;
  let loading: Promise<void> | undefined;
  const load = async (): Promise<void> => {
    const number = ++loads;
    const read = new OwnPrices(await integrations.list());
    // One that began before the newest says what was stored before.
    if (number !== loads) return;
    own = read;
    until = performance.now() + FRESH_MS;
  };
  const pricedCost: Prices['pricedCost'] = (call) => {
    const set = own.find(call);
    const rates = set ?? listPrices(call.model, call.at);
    const usd = rates ? costUsd(rates, call) : null;
    return usd === null ? null : { usd, source: set ? 'integration' : 'list' };
  };
  return {
    async fresh() {
      const left = until - performance.now();
      if (left < RENEWED_MS)
        loading ??= load().finally(() => {
          loading = undefined;
        });
      if (left <= 0) await loading;
      else loading?.catch(() => {}); // the next one tries again
    },
    costOf: (call) => pricedCost(call)?.usd ?? null,
    pricedCost,
    refresh: load,
  };
}
