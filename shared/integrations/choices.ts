import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import { IntegrationProvider } from '../wire/integrations.ts';
import { findById } from './describe.ts';
import type { Integration, IntegrationStore } from './integration.ts';

type ChoiceStore = Pick<IntegrationStore, 'list' | 'select' | 'disable'>;

/**
 * Has the calls of a user take an integration before others, also where they used none of its provider before. The caller has checked that the user sees it.
 * @param name its provider or its own name; undefined where the request names it by its id alone
 * @throws RequestInvalid for a name that is not its own; ServiceError `IntegrationNotFound`
 */
export async function selectIntegration(store: ChoiceStore, userId: string, id: string, name?: string): Promise<Integration> {
  const integration = await findById(store, id);
  if (name !== undefined && name !== integration.provider && name !== integration.name)
    throw new RequestInvalid([
      {
        loc: ['body', 'integration_name'],
        msg: `the integration ${id} is called "${integration.name}", of the provider ${integration.provider}: give one of the two`,
        type: 'value_error',
      },
    ]);
  await store.select(userId, id);
  return findById(store, id);
}

/**
 * Has the calls of a user use none of the integrations of a provider, or not one custom integration.
 * @param seen ids of the integrations that the user sees
 * @throws ServiceError `IntegrationNotFound` for what is neither a provider nor the name of one that they see
 */
export async function disableIntegration(
  store: ChoiceStore,
  userId: string,
  name: string,
  seen: (ids: readonly string[]) => Promise<ReadonlySet<string>>,
): Promise<void> {
  if (!IntegrationProvider.safeParse(name).success) {
    const named = (await store.list()).filter((one) => one.name === name).map(({ id }) => id);
    if ((await seen(named)).size === 0)
      throw new ServiceError('IntegrationNotFound', `no integration is called "${name}", nor is a provider`);
  }
  await store.disable(userId, name);
}
