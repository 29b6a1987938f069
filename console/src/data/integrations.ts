import { queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type { CallLimitsBody } from '../../../shared/wire/callLimits.ts';
import type { IntegrationPrices } from '../../../shared/wire/integrationPrices.ts';
import type { AvailableIntegrations, IntegrationDB, IntegrationModels } from '../../../shared/wire/integrations.ts';
import type { IntegrationTestResult } from '../../../shared/wire/integrationTest.ts';
import { queryClient, send } from './service.ts';

export type IntegrationRow = z.output<typeof IntegrationDB>;
export type Provider = IntegrationRow['provider'];
export type OwnPrice = IntegrationPrices['prices'][number];
/** Settings of a provider as the service keeps them: which there are is a matter of the provider. */
export type ProviderSettings = Readonly<Record<string, unknown>>;

export const integrationsQuery = queryOptions({
  queryKey: ['integrations'],
  queryFn: ({ signal }) => send<IntegrationRow[]>('/integrations', { signal }),
});

export const availableQuery = queryOptions({
  queryKey: ['available integrations'],
  queryFn: async ({ signal }) =>
    (await send<z.output<typeof AvailableIntegrations>>('/integrations/available', { signal })).integrations,
  staleTime: Number.POSITIVE_INFINITY,
});

/** The models of every integration, by its name. */
export const modelsQuery = queryOptions({
  queryKey: ['integrations', 'models'],
  queryFn: ({ signal }) => send<z.output<typeof IntegrationModels>>('/llm_integrations', { signal }),
});

export const integrationSettingsQuery = (id: string) =>
  queryOptions({
    queryKey: ['integrations', id, 'settings'],
    queryFn: ({ signal }) => send<ProviderSettings>(`/integrations/${id}/settings`, { signal }),
  });

export const callLimitsQuery = (id: string) =>
  queryOptions({
    queryKey: ['integrations', id, 'limits'],
    queryFn: ({ signal }) => send<CallLimitsBody>(`/integrations/${id}/limits`, { signal }),
  });

export const ownPricesQuery = (id: string) =>
  queryOptions({
    queryKey: ['integrations', id, 'prices'],
    queryFn: async ({ signal }) => (await send<IntegrationPrices>(`/integrations/${id}/prices`, { signal })).prices,
  });

const changed = () => queryClient.invalidateQueries({ queryKey: ['integrations'] });

/** @param name of a custom integration */
export async function saveIntegration(provider: Provider, name: string, settings: object): Promise<IntegrationRow> {
  const path = provider === 'custom' ? `custom/${encodeURIComponent(name)}` : provider;
  const saved = await send<IntegrationRow>(`/integrations/${path}`, { method: 'PUT', body: settings });
  await changed();
  return saved;
}

/** @param limits a text that is no number goes as it is, and is refused */
export async function saveCallLimits(id: string, limits: Record<keyof CallLimitsBody, number | string | null>): Promise<void> {
  await send(`/integrations/${id}/limits`, { method: 'PUT', body: limits });
  await changed();
}

export async function saveOwnPrices(id: string, prices: readonly OwnPrice[]): Promise<void> {
  await send(`/integrations/${id}/prices`, { method: 'PUT', body: { prices } });
  await changed();
}

/** A call that costs what a call costs. */
export const testIntegration = (id: string, asked: { model: string; prompt: string }): Promise<IntegrationTestResult> =>
  send(`/integrations/${id}/test_call`, {
    body: Object.fromEntries(Object.entries(asked).filter(([, text]) => text.trim() !== '')),
  });

export const mayOnIntegration = (one: IntegrationRow, wanted: IntegrationRow['permissions'][number]['action']): boolean =>
  one.permissions.some(({ action, allowed }) => action === wanted && allowed);
