import type { Caller } from '../accounts/permissions.ts';
import type { AssetAccess } from '../assets/assetAccess.ts';
import { CreateVersionRequest } from '../wire/prompts.ts';
import { createPrompt, type PromptStore } from './prompts.ts';

/** Prompts to begin with, each for rows with an `input`: how a text, messages and a name of a column of one's own are written. */
export const exampleTemplates = [
  {
    name: 'Example: answer a question',
    template: [
      { role: 'system', content: 'Answer in one or two sentences. If you do not know the answer, say so.' },
      { role: 'user', content: '{{input}}' },
    ],
  },
  {
    name: 'Example: answer from a text',
    template: [
      { role: 'system', content: 'Answer only from the text below. If it does not hold the answer, say so.\n\n{{context}}' },
      { role: 'user', content: '{{input}}' },
    ],
  },
  { name: 'Example: summarize', template: 'Summarize this text in three sentences:\n\n{{input}}' },
  {
    name: 'Example: classify',
    template:
      'Which topic does this message belong to: billing, technical problem, feedback or something else? Answer with the topic alone.\n\n{{input}}',
  },
];

/** Makes the example templates in a project for its owner; a name that they know already gets a suffix. */
export async function makeExampleTemplates(
  { prompts, assets }: { prompts: PromptStore; assets: Pick<AssetAccess, 'viewer'> },
  owner: Caller,
  projectId: string,
): Promise<void> {
  const viewer = await assets.viewer(owner);
  // One after the other, so that lists have them in this order.
  for (const { name, template } of exampleTemplates)
    await createPrompt(prompts, {
      ...{ name, viewer, projectId, userId: owner.userId, appendSuffix: true, hidden: false },
      version: CreateVersionRequest.parse({ template }),
    });
}
