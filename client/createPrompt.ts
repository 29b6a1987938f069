import type { z } from 'zod';
import type { TemplateResponse } from '../shared/wire/prompts.ts';
import { ValueError } from './errors.ts';
import { type CallOptions, clientOf, type ProjectChoice } from './project.ts';
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
