import { messagesOf, type PromptMessage, type PromptResponse } from './createPrompt.ts';
import { type CallOptions, clientOf } from './project.ts';
import { type PromptSettings, settingsKeys } from './promptSettings.ts';

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
