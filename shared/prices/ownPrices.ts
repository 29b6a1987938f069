import { LRUCache } from 'lru-cache';
import { RequestInvalid } from '../errors/errors.ts';
import { customFirst, type Integration, type OwnPrice } from '../integrations/integration.ts';
import { spelledAs } from '../modelCalls/models.ts';
import { modelKey } from '../providers/findModel.ts';
import type { IntegrationPrice, IntegrationPrices } from '../wire/integrationPrices.ts';
import type { Rate, Rates } from './rates.ts';

const parts = [
  ['input', 'input'],
  ['cached_input', 'cachedInput'],
  ['cache_write', 'cacheWrite'],
  ['audio_input', 'audioInput'],
  ['image_input', 'imageInput'],
  ['output', 'output'],
  ['reasoning_output', 'reasoning'],
  ['audio_output', 'audioOutput'],
  ['image_output', 'imageOutput'],
  ['call', 'call'],
] as const satisfies readonly (readonly [keyof IntegrationPrice, keyof Rates])[];

/** Prices as a request names them. @throws RequestInvalid for two prices of one model from the same time on */
export function pricesFrom({ prices }: IntegrationPrices): OwnPrice[] {
  const seen = new Set<string>();
  for (const [index, { model, valid_from }] of prices.entries()) {
    const key = `${modelKey(model)} ${valid_from ?? ''}`;
    if (seen.has(key)) {
      const msg = `there is another price of ${model} from the same time on`;
      throw new RequestInvalid([{ loc: ['body', 'prices', index], msg, type: 'price_twice' }]);
    }
    seen.add(key);
  }
  return prices.map((price) => ({
    model: price.model,
    validFrom: price.valid_from ?? null,
    rates: Object.fromEntries(
      parts.flatMap(([name, part]): [string, Rate][] => {
        const rate = price[name];
        return rate == null ? [] : [[part, typeof rate === 'number' ? rate : inOrder(rate)]];
      }),
    ),
  }));
}

const inOrder = ({ base, tiers }: Exclude<Rate, number>): Rate => ({ base, tiers: [...tiers].sort((a, b) => a.above - b.above) });

/** Prices as an answer names them. */
export const pricesBody = (prices: readonly OwnPrice[]): IntegrationPrices => ({
  prices: prices.map(
    ({ model, validFrom, rates }) =>
      ({
        model,
        valid_from: validFrom,
        ...Object.fromEntries(parts.map(([name, part]) => [name, (rates as Rates)[part] ?? null])),
      }) as IntegrationPrice,
  ),
});

/** A model's price through one integration. */
interface Entry {
  integration: Pick<Integration, 'id' | 'name'>;
  from: number;
  rates: Rates;
}

export interface AskedPrice {
  model: string;
  at: string;
  /** The integration that the call went through; absent where that is not known. */
  integrationId?: string | undefined;
}

/** Names of models come from callers: so many are remembered. */
const MAX_REMEMBERED = 10_000;

/**
 * The prices that integrations set. A call that names none is priced by the first integration that has a price of its model then, in the order in which
 * models are looked for: custom ones before those of providers, older before newer.
 */
export class OwnPrices {
  readonly #entries = new Map<string, Entry[]>();
  readonly #remembered = new LRUCache<string, readonly Entry[]>({ max: MAX_REMEMBERED });

  constructor(integrations: readonly Integration[]) {
    const ordered = customFirst(integrations);
    for (const integration of ordered) {
      const { id, name, prices } = integration;
      const newestFirst = [...prices].sort((a, b) => startOf(b) - startOf(a));
      for (const price of newestFirst) {
        const entry = { integration: { id, name }, from: startOf(price), rates: price.rates };
        for (const key of new Set(spelledAs(integration, price.model).map(modelKey)))
          this.#entries.set(key, [...(this.#entries.get(key) ?? []), entry]);
      }
    }
  }

  find({ model, at, integrationId }: AskedPrice): Rates | undefined {
    if (this.#entries.size === 0) return undefined;
    const entries = this.#entriesOf(model);
    if (entries.length === 0) return undefined;
    const time = Date.parse(at);
    return entries.find(
      ({ integration, from }) => from <= time && (integrationId === undefined || integration.id === integrationId),
    )?.rates;
  }

  /** Returns the prices of the name as it is, else without the gateway it begins with. Where the gateway is an integration, only its own prices count. */
  #entriesOf(model: string): readonly Entry[] {
    const known = this.#remembered.get(model);
    if (known) return known;
    const slash = model.indexOf('/');
    const [gateway, rest] = [model.slice(0, Math.max(slash, 0)), model.slice(slash + 1)];
    const ofRest =
      this.#entries.get(modelKey(rest)) ?? this.#entries.get(modelKey(model.slice(model.lastIndexOf('/') + 1))) ?? [];
    const ofGateway = ofRest.filter(({ integration }) => integration.name === gateway);
    const found = this.#entries.get(modelKey(model)) ?? (ofGateway.length > 0 ? ofGateway : ofRest);
    this.#remembered.set(model, found);
    return found;
  }
}

const startOf = ({ validFrom }: OwnPrice): number => (validFrom === null ? Number.NEGATIVE_INFINITY : Date.parse(validFrom));
