import { inject } from 'vitest';
import type { ServiceClient } from '../../client/http.ts';
import { deleteIntegration, listIntegrations } from '../../client/index.ts';
import { type ServiceAddresses, type TestService, testServiceAt } from './testService.ts';

/**
 * A service that other files have used, or will: a test that needs a setting, an empty organization or a crash calls `startTestService`. It runs as a
 * process of its own; to dispose of it gives it back, without integrations. All else that belongs to the organization stays, so a file gives it names
 * that no other has.
 */
export async function sharedTestService(): Promise<TestService> {
  const lender = inject('sharedServices');
  const answer = await fetch(lender, { method: 'POST' });
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  const { loan, ...at } = JSON.parse(text) as ServiceAddresses & { loan: number };
  const service = testServiceAt(at, async () => {
    try {
      await removeIntegrations(service.client);
    } catch (err) {
      await fetch(`${lender}/${loan}?end`, { method: 'DELETE' });
      throw err;
    }
    await fetch(`${lender}/${loan}`, { method: 'DELETE' });
  });
  return service;
}

/** They are the whole organization's, and the next file's judges would call their models. */
async function removeIntegrations(client: ServiceClient): Promise<void> {
  for (const { provider, name } of await listIntegrations({ client }))
    await deleteIntegration({ client, provider, ...(provider === 'custom' && { name }) });
}
