import type { PromptResponse } from './createPrompt.ts';
import { noneOf, ValueError } from './errors.ts';
import { type CallOptions, clientOf } from './project.ts';

/**
 * The prompt template of a name or id, with its versions; undefined when there is none.
 * @throws ValueError unless exactly one of them is given.
 */
export async function getPrompt(
  options: CallOptions & { name?: string | undefined; id?: string | undefined },
): Promise<PromptResponse | undefined> {
  const { name, id } = options;
  if (!name === !id) throw new ValueError('name the prompt template: by its name or by its id');
  const client = clientOf(options);
  if (id) return client.send<PromptResponse>(`/templates/${encodeURIComponent(id)}`).catch(noneOf);
  const found = await client.send<{ templates: PromptResponse[] }>('/templates/query', {
    body: { filters: [{ name: 'name', operator: 'eq', value: name, case_sensitive: true }] },
    query: { limit: 1 },
    repeatable: true,
  });
  return found.templates[0];
}
