import type { z } from 'zod';
import type { TemplateResponse } from '../shared/wire/prompts.ts';
import { type CallOptions, clientOf, type ProjectChoice } from './callOptions.ts';
import { noneOf, ValueError } from './errors.ts';
import { type Pages, pagesOf } from './pages.ts';
import { type PromptSettings, settingsKeys } from './promptSettings.ts';

export type PromptResponse = z.output<typeof TemplateResponse>;

export interface PromptMessage {
  role: string;
  content: string;
}

export interface CreatePromptOptions extends CallOptions, Pick<ProjectChoice, 'projectId'> {
  name: string;
  /** Text, which becomes one user message, or messages. The dataset's cells of those names replace `{{input}}` and `{{topic}}`. */
  template: string | PromptMessage[];
  settings?: PromptSettings | undefined;
}

/**
 * Creates a prompt template with one version. With `projectId` it is linked to that project.
 * @throws ValueError without name or template; HttpStatusError 409 when the name is taken.
 */
export async function createPrompt(options: CreatePromptOptions): Promise<PromptResponse> {
  const { name, template, settings, projectId } = options;
  if (!name) throw new ValueError('a prompt template needs a name');
  if (template.length === 0) throw new ValueError('a prompt template cannot be empty');
  return clientOf(options).send('/templates', {
    body: { name, template: messagesOf(template), ...(settings ? { settings: settingsKeys(settings) } : {}) },
    query: { project_id: projectId },
  });
}

export const messagesOf = (template: string | PromptMessage[]): PromptMessage[] =>
  typeof template === 'string' ? [{ role: 'user', content: template }] : template;

export type PromptVersion = PromptResponse['selected_version'];

export interface AddPromptVersionOptions extends CallOptions {
  /** The id of the template. */
  id: string;
  template: string | PromptMessage[];
  settings?: PromptSettings | undefined;
  /** Makes this the selected version of the template; else the selection stays. */
  select?: boolean | undefined;
}

/** Adds a version to a prompt template. @throws NotFoundError when there is none. */
export async function addPromptVersion(options: AddPromptVersionOptions): Promise<PromptVersion> {
  const { id, template, settings, select } = options;
  const client = clientOf(options);
  const path = `/templates/${encodeURIComponent(id)}/versions`;
  const added = await client.send<PromptVersion>(path, {
    body: { template: messagesOf(template), ...(settings ? { settings: settingsKeys(settings) } : {}) },
  });
  if (select) await client.send(`${path}/${added.version}`, { method: 'PUT' });
  return added;
}

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

/** The prompt templates that the caller can read, each with its versions. */
export const listPrompts = (options: CallOptions = {}): Pages<PromptResponse> =>
  pagesOf(clientOf(options), '/templates/query', 'templates', {});

/** Deletes a prompt template. Experiments keep the version that they ran. @throws NotFoundError when there is none. */
export async function deletePrompt(options: CallOptions & { id: string }): Promise<void> {
  await clientOf(options).send(`/templates/${encodeURIComponent(options.id)}`, { method: 'DELETE' });
}
