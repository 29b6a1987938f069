import { z } from 'zod';
import type { CallLimits } from '../coordination/coordination.ts';
import { CustomConfig } from '../providers/custom.ts';
import { tokenProviders } from '../providers/index.ts';
import { type Secrets, secretFields } from '../providers/provider.ts';

/** The stored settings of an integration beside its identity. */
export const IntegrationContent = z.discriminatedUnion('provider', [
  z.object({ provider: z.literal('custom'), config: CustomConfig }),
  ...tokenProviders.map(({ name, stored }) => z.object({ provider: z.literal(name), config: stored })),
]);
export type IntegrationContent = z.output<typeof IntegrationContent>;
/** Providers whose models this service really calls. */
export type ProviderName = IntegrationContent['provider'];
export const providerNames: readonly ProviderName[] = ['custom', ...tokenProviders.map(({ name }) => name)];

export const SealedSecrets = z.partialRecord(z.enum(secretFields), z.string());

/** A stored integration; its secrets are sealed. */
export type Integration = IntegrationContent & {
  id: string;
  /** The slug of a custom integration, the provider's name otherwise. */
  name: string;
  sealed: Secrets;
  /** The limits of its calls, over all workers; null where none is set. */
  limits: Partial<CallLimits> | null;
  prices: readonly OwnPrice[];
  /** Users whose calls take it before others. */
  selectedBy: readonly string[];
  /** Users whose calls do not use it. */
  disabledBy: readonly string[];
  createdBy: string;
  createdAt: Date;
  updatedAt: Date;
};

const StoredRate = z.union([
  z.number(),
  z.object({ base: z.number(), tiers: z.array(z.object({ above: z.number(), price: z.number() })) }),
]);

/** In the order in which models and their prices are looked for: custom ones before those of providers, else as they are given. */
export const customFirst = (integrations: readonly Integration[]): Integration[] =>
  [...integrations].sort((a, b) => Number(a.provider !== 'custom') - Number(b.provider !== 'custom'));

/** The integrations that calls for a user may use, those of their choice first. @param userId absent: no user in particular */
export function usableBy(integrations: readonly Integration[], userId: string | null | undefined): Integration[] {
  if (!userId) return [...integrations];
  return integrations
    .filter(({ disabledBy }) => !disabledBy.includes(userId))
    .sort((a, b) => Number(b.selectedBy.includes(userId)) - Number(a.selectedBy.includes(userId)));
}

/** The price of a model through an integration, from a time on. The parts of `rates` are those of shared/prices. */
export const OwnPrice = z.object({
  model: z.string(),
  /** Canonical time; null: also before any other price of the model. */
  validFrom: z.string().nullable(),
  rates: z.object({
    input: StoredRate.optional(),
    cachedInput: StoredRate.optional(),
    cacheWrite: StoredRate.optional(),
    audioInput: StoredRate.optional(),
    imageInput: StoredRate.optional(),
    output: StoredRate.optional(),
    reasoning: StoredRate.optional(),
    audioOutput: StoredRate.optional(),
    imageOutput: StoredRate.optional(),
    call: z.number().optional(),
  }),
});
export type OwnPrice = z.output<typeof OwnPrice>;

export const StoredLimits = z.object({
  concurrency: z.number().exactOptional(),
  requestsPerMinute: z.number().exactOptional(),
  tokensPerMinute: z.number().exactOptional(),
});

export type IntegrationDraft = IntegrationContent & { id: string; sealed: Secrets };

export interface IntegrationStore {
  /** All integrations, oldest first. */
  list(): Promise<Integration[]>;
  find(provider: string, name: string): Promise<Integration | undefined>;
  /** Creates or replaces in one step: `build` sees what is stored. No other call can write this name until its result is stored. */
  save(
    key: { provider: ProviderName; name: string; userId: string },
    build: (existing: Integration | undefined) => IntegrationDraft,
  ): Promise<Integration>;
  /** False when there was none. */
  remove(provider: string, name: string): Promise<boolean>;
  /** Has the calls of a user take this integration before others, in place of another one of its provider; false when there is none of this id. */
  select(userId: string, id: string): Promise<boolean>;
  /** Has the calls of a user leave out the integrations of this provider, or the custom one of this name: those that are made later, too. */
  disable(userId: string, name: string): Promise<void>;
  /** Replaces the limits; false when there is no such integration. */
  setLimits(id: string, limits: Partial<CallLimits> | null): Promise<boolean>;
  /** Replaces the prices; false when there is no such integration. */
  setPrices(id: string, prices: readonly OwnPrice[]): Promise<boolean>;
  /** Replaces the sealed secrets unless they have changed since they were read; does not count as an update. */
  replaceSecrets(id: string, from: Secrets, to: Secrets): Promise<boolean>;
}
