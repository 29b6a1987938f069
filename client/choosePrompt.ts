import type { ExperimentResponse } from '../shared/wire/experiments.ts';
import { ValueError } from './errors.ts';
import type { ServiceClient } from './http.ts';
import { createPrompt, getPrompt, messagesOf, type PromptMessage, type PromptResponse } from './prompts.ts';

/**
 * The prompt of an experiment: a template as `createPrompt` and `getPrompt` give it (its selected version is taken), its id, the id of one
 * version, a template's name, or inline text or messages. A bare text is a template's name; where there is none of that name and the text has a
 * `{{variable}}`, it is the prompt itself.
 */
export type PromptChoice =
  | string
  | PromptMessage[]
  | { id: string; selected_version_id?: string }
  | { versionId: string }
  | { name: string }
  | { template: string | PromptMessage[]; name?: string };

/** A version of a template. Of one given only by its id the rest is not known. */
export interface ChosenPrompt {
  versionId: string;
  known?: { templateId: string; version: number; settings: Record<string, unknown> };
}

/**
 * The version to run. Inline content becomes a template named after the experiment, or a new version of it; the same content is not stored twice.
 * @throws ValueError when there is no such template.
 */
export async function choosePrompt(
  client: ServiceClient,
  projectId: string,
  choice: PromptChoice,
  experimentName: string,
): Promise<ChosenPrompt> {
  if (typeof choice === 'string') return byNameOrText(client, projectId, choice, experimentName);
  if (Array.isArray(choice)) return inline(client, projectId, choice, nameFor(experimentName));
  if ('versionId' in choice) return { versionId: choice.versionId };
  if ('id' in choice) {
    const found = await getPrompt({ client, id: choice.id });
    if (!found) throw new ValueError(`there is no prompt template with the id ${choice.id}`);
    return selected(found);
  }
  if ('template' in choice) return inline(client, projectId, choice.template, choice.name ?? nameFor(experimentName));
  const found = await getPrompt({ client, name: choice.name });
  if (!found) throw new ValueError(`there is no prompt template called ${JSON.stringify(choice.name)}`);
  return selected(found);
}

async function byNameOrText(
  client: ServiceClient,
  projectId: string,
  text: string,
  experimentName: string,
): Promise<ChosenPrompt> {
  // The service's limit for names: a longer text is none, and a search for it would be refused.
  const found = text.length <= 128 ? await getPrompt({ client, name: text }) : undefined;
  if (found) return selected(found);
  if (/\{\{.+?\}\}/s.test(text)) return inline(client, projectId, text, nameFor(experimentName));
  throw new ValueError(
    `there is no prompt template called ${JSON.stringify(text)}; write { template: "…" } for a prompt without variables`,
  );
}

async function inline(
  client: ServiceClient,
  projectId: string,
  content: string | PromptMessage[],
  name: string,
): Promise<ChosenPrompt> {
  const template = messagesOf(content);
  if (template.length === 0) throw new ValueError('the prompt template is empty');
  const found = await getPrompt({ client, name });
  if (!found) return selected(await createPrompt({ client, projectId, name, template }));
  const stored = found.all_versions.find((version) => isSame(version.template, template));
  if (stored) return toChosenPrompt(found.id, stored);
  const version = await client.send<PromptResponse['selected_version']>(`/templates/${found.id}/versions`, {
    body: { template },
  });
  return toChosenPrompt(found.id, version);
}

const nameFor = (experimentName: string): string => `${experimentName.slice(0, 120)} prompt`;

const selected = ({ id, selected_version }: PromptResponse): ChosenPrompt => toChosenPrompt(id, selected_version);

const toChosenPrompt = (templateId: string, { id, version, settings }: PromptResponse['selected_version']): ChosenPrompt => ({
  versionId: id,
  known: { templateId, version, settings },
});

const isSame = (stored: PromptResponse['selected_version']['template'], template: PromptMessage[]): boolean => {
  const messages = typeof stored === 'string' ? messagesOf(stored) : stored;
  return (
    messages.length === template.length &&
    messages.every(({ role, content }, index) => role === template[index]?.role && content === template[index]?.content)
  );
};

/** True when the experiment runs this prompt with these settings. A version given only by its id cannot be compared and counts as another one. */
export function isPromptOf(experiment: ExperimentResponse, { known }: ChosenPrompt, settings: Record<string, unknown>): boolean {
  if (!known || experiment.prompt?.prompt_template_id !== known.templateId || experiment.prompt.version_index !== known.version)
    return false;
  const stored = experiment.prompt_run_settings ?? {};
  return Object.entries(settings).every(([key, value]) => JSON.stringify(stored[key]) === JSON.stringify(value));
}
