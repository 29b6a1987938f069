import { openListPrices } from './listPrices.ts';
import { costUsd, type TokenUsage } from './rates.ts';

/** One call of a model. */
export interface PricedCall extends TokenUsage {
  /** Its name in any spelling. */
  model: string;
  /** When it was made, as a time of ISO 8601: the price of that time counts. */
  at: string;
}

export interface Prices {
  /** What a call costs in US dollars, null where that is not known. Takes no input or output. */
  costOf(call: PricedCall): number | null;
}

/** What calls of models cost. */
export function openPrices(): Prices {
  const listPrices = openListPrices();
  return {
    costOf(call) {
      const rates = listPrices(call.model, call.at);
      return rates ? costUsd(rates, call) : null;
    },
  };
}
