import type { RowPlace, ValueSource } from '../data/playground.ts';
import type { PromptVersion } from '../data/prompts.ts';
import { messagesOf, type WrittenMessage } from '../prompt/promptText.ts';

/** A model that is called, with its settings. */
export interface Column {
  id: string;
  settings: Record<string, unknown>;
}

/** The changes that somebody made to what is tried: kept in the tab of the browser. */
export interface PlaygroundDraft {
  messages: WrittenMessage[];
  /** Values that were typed, by the names of variables: they go before those of the row. */
  values: Record<string, string>;
  /** The row that fills in the other variables; null for none, undefined for where the page was opened from. */
  row?: RowPlace | null;
  columns: Column[];
}

/** The content of the page before anything is changed. */
export interface Start {
  draft: PlaygroundDraft;
  /** The source of the variables' values. */
  source: ValueSource | undefined;
  /** The version that the messages are of. */
  version: PromptVersion | undefined;
  /** True where the messages hold pictures or files of a record as text. */
  isMediaText: boolean;
  /** Output of the record, to compare with. */
  recorded: string | undefined;
}

export const newColumn = (settings: Record<string, unknown>): Column => ({ id: crypto.randomUUID(), settings });

/** Returns true when messages or settings are other than those of the version. */
export const isChanged = (
  { messages }: Pick<PlaygroundDraft, 'messages'>,
  settings: Record<string, unknown>,
  version: PromptVersion,
): boolean => fixed(messages) !== fixed(messagesOf(version)) || fixed(settings) !== fixed(version.settings);

/** The same text for the same value, in whichever order its keys are. */
const fixed = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
