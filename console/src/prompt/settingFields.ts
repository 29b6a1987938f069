/** Settings of a model that have a field, wherever they are asked for. */
export const settingFields = [
  { name: 'temperature', label: 'Temperature', step: 'any', least: 0, most: 2 },
  { name: 'max_tokens', label: 'Most tokens', step: '1', least: 1 },
  { name: 'top_p', label: 'Top p', step: 'any', least: 0, most: 1 },
  { name: 'frequency_penalty', label: 'Frequency penalty', step: 'any', least: -2, most: 2 },
  { name: 'presence_penalty', label: 'Presence penalty', step: 'any', least: -2, most: 2 },
  { name: 'seed', label: 'Seed of the model', step: '1' },
  { name: 'reasoning_effort', label: 'Reasoning effort' },
  { name: 'verbosity', label: 'Verbosity' },
] as const satisfies { name: string; label: string; step?: string; least?: number; most?: number }[];

export type SettingField = (typeof settingFields)[number];
export type NumberSetting = Extract<SettingField, { step: string }>;

/** A stored version holds these values for a field that is not set: no model is sent them, so the field is empty. */
const notAsked: Readonly<Record<string, unknown>> = {
  ...{ max_tokens: 4096, top_p: 1, frequency_penalty: 0, presence_penalty: 0 },
  ...{ reasoning_effort: 'medium', verbosity: 'medium' },
};

/** The value of a setting that was asked for; null where the provider's default holds. */
export const askedSetting = (name: string, value: unknown): unknown =>
  value === undefined || value === notAsked[name] || (Array.isArray(value) && value.length === 0) ? null : value;

/** The attributes of an input for a number. */
export const rangeOf = (field: SettingField) => ({
  ...('step' in field ? { type: 'number', step: field.step } : {}),
  ...('least' in field ? { min: field.least } : {}),
  ...('most' in field ? { max: field.most } : {}),
});

/** Says what a number must be, where it is not. */
export function settingProblem(field: NumberSetting, value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  const { least, most } = { least: Number.NEGATIVE_INFINITY, most: Number.POSITIVE_INFINITY, ...field };
  const isWhole = field.step === '1';
  if (typeof value === 'number' && value >= least && value <= most && (!isWhole || Number.isSafeInteger(value))) return undefined;
  const what = isWhole ? 'A whole number' : 'A number';
  if (Number.isFinite(most)) return `${what} from ${least} to ${most}.`;
  return Number.isFinite(least) ? `${what} from ${least} on.` : `${what}.`;
}

/** Stop sequences as lines of a text, in which `\n` is a line break and `\\` a backslash. */
export const linesOf = (sequences: unknown): string =>
  Array.isArray(sequences) ? sequences.map((one) => String(one).replaceAll('\\', '\\\\').replaceAll('\n', '\\n')).join('\n') : '';

export function sequencesOf(lines: string): string[] | null {
  const written = lines.split('\n').filter((line) => line !== '');
  const sequences = written.map((line) => line.replaceAll(/\\(n|\\)/g, (_, letter) => (letter === 'n' ? '\n' : '\\')));
  return sequences.length > 0 ? sequences : null;
}
