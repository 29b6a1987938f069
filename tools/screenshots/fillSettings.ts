import type { ServiceClient } from '../../client/http.ts';
import { saveIntegration, setPlaygroundLimits } from '../../client/index.ts';

/** Fills the pages of the settings: providers, prices, keys, people and groups. @returns the id of an integration */
export async function fillSettings(client: ServiceClient, projectId: string): Promise<string> {
  await saveIntegration({ client, provider: 'openai', settings: { token: 'a-token-of-pictures' } });
  const { id } = await saveIntegration({
    ...{ client, provider: 'custom', name: 'house-gateway' },
    settings: {
      ...{
        endpoint: 'http://127.0.0.1:9/v1',
        authentication_type: 'api_key',
        api_key_header: 'X-Model-Key',
        api_key_value: 'key',
      },
      model_properties: [
        { name: 'house-large-2026-09', alias: 'house-large', based_on: 'gpt-4.1' },
        { name: 'house-small', alias: 'house-small' },
      ],
    },
  });
  const put = (path: string, body: object) => client.send(`/integrations/${id}${path}`, { method: 'PUT', body });
  await put('/limits', { concurrency: 40, requests_per_minute: 600 });
  const tiered = { base: 0.4, tiers: [{ above: 200_000, price: 0.8 }] };
  await put('/prices', {
    prices: [
      { model: 'house-large', input: 2, cached_input: 0.5, output: 8 },
      { model: 'house-small', valid_from: '2026-07-01T00:00:00Z', input: tiered, output: 1.5 },
    ],
  });
  const emails = ['ana@example.com', 'a.very.long.name.of.somebody.else@department.of.long.names.example.com', 'li@example.com'];
  for (const [index, email] of emails.entries())
    await client.send('/users', {
      body: { email, password: 'A-Password-of-pictures-1', role: index === 0 ? 'manager' : 'user' },
    });
  await setPlaygroundLimits({ client, projectId, mostCalls: 8, mostCostPerDay: 2.5 });
  await client.send('/groups', { body: { name: 'Reviewers', description: 'rate answers every week' } });
  await client.send(`/projects/${projectId}/users`, { body: [{ user_email: emails[2], role: 'annotator' }] });
  for (const [description, more] of [
    ['production of travel-assistant', { project_id: projectId, project_role: 'editor' }],
    ['nightly evaluation', { expires_at: '2027-01-31T23:59:59Z' }],
  ] as const)
    await client.send('/users/api_keys', { body: { description, ...more } });
  return id;
}
