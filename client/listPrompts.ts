import type { PromptResponse } from './createPrompt.ts';
import { type Pages, pagesOf } from './pages.ts';
import { type CallOptions, clientOf } from './project.ts';

/** The prompt templates that the caller can read, each with its versions. */
export const listPrompts = (options: CallOptions = {}): Pages<PromptResponse> =>
  pagesOf(clientOf(options), '/templates/query', 'templates', {});
