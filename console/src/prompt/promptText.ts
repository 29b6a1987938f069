import { jsonWithBigInts } from '../../../shared/wire/longNumbers.ts';
import type { PromptMessages, PromptVersion } from '../data/prompts.ts';

/** A message as it is written: its content as text, or as JSON where it holds more than text. */
export interface WrittenMessage {
  role: string;
  text: string;
  isJson: boolean;
  /** Keys of the message beside role and content. */
  others: Record<string, unknown>;
}

/** A template that is a text is one message of the user. */
export const messagesOf = ({ template }: Pick<PromptVersion, 'template'>): WrittenMessage[] =>
  typeof template === 'string'
    ? [{ role: 'user', text: template, isJson: false, others: {} }]
    : template.map(({ role, content, ...others }) =>
        typeof content === 'string'
          ? { role, text: content, isJson: false, others }
          : { role, text: jsonWithBigInts(content, undefined, 2), isJson: true, others },
      );

/** The template of the API. @throws SyntaxError for JSON that is broken */
export const templateOf = (messages: readonly WrittenMessage[]): PromptMessages =>
  messages.map(({ role, text, isJson, others }) => ({
    ...others,
    role,
    content: isJson ? JSON.parse(text) : text,
  })) as PromptMessages;

/** A version as one text, so that two can be compared. */
export const textOf = (version: PromptVersion): string =>
  messagesOf(version)
    .map(({ role, text }) => `${role}:\n${text}`)
    .join('\n\n');

/** The settings in which two versions differ, as text. */
export function settingsThatDiffer(before: PromptVersion, after: PromptVersion): [before: string, after: string] {
  const names = [...new Set([...Object.keys(before.settings), ...Object.keys(after.settings)])];
  const of = ({ settings }: PromptVersion, name: string) => `${name}: ${jsonWithBigInts(settings[name] ?? null)}`;
  const different = names.filter((name) => of(before, name) !== of(after, name));
  return [different.map((name) => of(before, name)).join('\n'), different.map((name) => of(after, name)).join('\n')];
}
