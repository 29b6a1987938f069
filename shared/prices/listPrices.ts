import { calcPrice, findProvider, type ModelInfo, type ModelPrice, type Provider } from '@pydantic/genai-prices';
import { LRUCache } from 'lru-cache';
import { modelKey, snapshotOf } from '../providers/findModel.ts';
import type { Rate, Rates } from './rates.ts';

/**
 * List prices of providers, with the days from which they hold, as the package `@pydantic/genai-prices` has them: a list that its makers keep by the
 * providers' pages. A newer list comes with a newer version of the package; nothing is fetched.
 */
export type ListPrices = (model: string, at: string) => Rates | undefined;

/** Names without a provider are looked for among those who make models, in this order; their resellers ask other prices. */
const makers = [
  'openai',
  'anthropic',
  'google',
  'mistral',
  'deepseek',
  'x-ai',
  'cohere',
  'perplexity',
  'moonshotai',
  'minimax',
  'zai',
  'voyageai',
  'aws',
];

/** Names of models come from callers: so many are remembered. */
const MAX_REMEMBERED = 10_000;

/** The same rates whenever a call was made, or those of a moment. */
type Found = { rates: Rates } | { at(time: string): Rates } | 'unknown';

/** A name that was looked for is found again by one look into a map: looking for it takes some 50 µs. */
export function openListPrices(): ListPrices {
  const remembered = new LRUCache<string, Found>({ max: MAX_REMEMBERED });
  const names = new Map<Provider, ReadonlyMap<string, string>>();
  const namesOf = (provider: Provider) => {
    const known = names.get(provider) ?? spellings(provider);
    names.set(provider, known);
    return known;
  };
  const find = (name: string): Found => {
    for (const { provider, spelled } of candidates(name)) {
      for (const id of [spelled, namesOf(provider).get(modelKey(spelled))]) {
        if (id === undefined) continue;
        const found = calcPrice({}, id, { providerId: provider.id });
        if (found) return foundIn(provider, id, found.model, found.model_price);
      }
    }
    return 'unknown';
  };
  return (model, at) => {
    let found = remembered.get(model);
    if (found === undefined) {
      found = find(model);
      remembered.set(model, found);
    }
    if (found === 'unknown') return undefined;
    return 'rates' in found ? found.rates : found.at(at);
  };
}

function foundIn({ id: providerId }: Provider, model: string, { prices }: ModelInfo, price: ModelPrice): Found {
  if (!Array.isArray(prices)) return { rates: ratesOf(price) };
  // Prices change from a day on, some with the time of day.
  let last: { minute: number; rates: Rates } | undefined;
  return {
    at(time: string) {
      const timestamp = new Date(time);
      const minute = Math.floor(timestamp.getTime() / 60_000);
      if (last?.minute !== minute)
        last = { minute, rates: ratesOf(calcPrice({}, model, { providerId, timestamp })?.model_price ?? {}) };
      return last.rates;
    },
  };
}

/**
 * Returns the models that a name may mean: one of the provider that it begins with (`groq/llama-3.3-70b`), else one of a maker, whatever gateway it
 * begins with. The snapshot of a model (`gpt-4o-2024-08-06`, `-latest`) costs what the model does, where the list does not name it.
 */
function candidates(name: string): { provider: Provider; spelled: string }[] {
  const text = name.trim();
  if (text === '') return [];
  const slash = text.indexOf('/');
  const rest = text.slice(text.lastIndexOf('/') + 1);
  const named = slash > 0 ? findProvider({ providerId: text.slice(0, slash) }) : undefined;
  const ofMakers = makers.flatMap((providerId) => findProvider({ providerId }) ?? []);
  const inAll = (spelled: string) => ofMakers.map((provider) => ({ provider, spelled }));
  const bare = snapshotOf(rest)?.model ?? rest;
  return [
    ...(named ? [text.slice(slash + 1), rest, bare].map((spelled) => ({ provider: named, spelled })) : []),
    ...inAll(rest),
    ...(bare === rest ? [] : inAll(bare)),
  ];
}

/** The models of a provider by what is the same in every spelling of their ids and names; those of two models lead to none. */
function spellings({ models }: Provider): ReadonlyMap<string, string> {
  const ids = new Map<string, string>();
  const doubtful = new Set<string>();
  for (const { id, name } of models)
    for (const key of new Set([modelKey(id), modelKey(name ?? id)])) {
      if (ids.has(key)) doubtful.add(key);
      else ids.set(key, id);
    }
  for (const key of doubtful) ids.delete(key);
  return ids;
}

function ratesOf(price: ModelPrice): Rates {
  return {
    input: rateOf(price.input_mtok),
    cachedInput: rateOf(price.cache_read_mtok),
    cacheWrite: rateOf(price.cache_write_mtok),
    audioInput: rateOf(price.input_audio_mtok),
    imageInput: rateOf(price.input_image_mtok),
    output: rateOf(price.output_mtok),
    reasoning: rateOf(price.output_reasoning_mtok),
    audioOutput: rateOf(price.output_audio_mtok),
    imageOutput: rateOf(price.output_image_mtok),
    call: typeof price.requests_kcount === 'number' ? price.requests_kcount / 1000 : undefined,
  };
}

const rateOf = (price: ModelPrice[string]): Rate | undefined =>
  typeof price === 'object'
    ? {
        base: price.base,
        tiers: price.tiers.map(({ start, price: ofTier }) => ({ above: start, price: ofTier })).sort((a, b) => a.above - b.above),
      }
    : price;
