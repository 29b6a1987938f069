import { inject } from 'vitest';
import { deleteIntegration, listIntegrations } from '../../client/index.ts';
import { type ServiceAddresses, type TestService, testServiceAt } from './testService.ts';

/**
 * A service that other files have used, or will: whoever needs a setting, an empty organization or a crash starts one by `startTestService`. It runs as a
 * process of its own; to dispose of it gives it back.
 */
export async function sharedTestService(): Promise<TestService> {
  const lender = inject('sharedServices');
  const answer = await fetch(lender, { method: 'POST' });
  const text = await answer.text();
  if (!answer.ok) throw new Error(text);
  const { place, ...at } = JSON.parse(text) as ServiceAddresses & { place: number };
  const service = testServiceAt(at, async () => {
    // They are the whole organization's, and the next file's judges would call their models.
    const { client } = service;
    for (const { provider, name } of await listIntegrations({ client }))
      await deleteIntegration({ client, provider, ...(provider === 'custom' && { name }) });
    await fetch(`${lender}/${place}`, { method: 'DELETE' });
  });
  return service;
}
