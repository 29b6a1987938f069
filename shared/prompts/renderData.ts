import { toExperimentRow } from '../datasets/experimentRow.ts';
import type { DatasetRowStore } from '../datasets/rowStore.ts';
import { renderText } from './render.ts';

export interface RenderedText {
  result: string;
  warning: string | null;
}

/** A text rendered for rows of a dataset version, as an experiment would see them. */
export async function renderForRows(
  template: string,
  rows: Pick<DatasetRowStore, 'range'>,
  { datasetId, versionIndex }: { datasetId: string; versionIndex: number },
  page: { starting_token: number; limit: number },
): Promise<RenderedText[]> {
  const found = await rows.range(datasetId, versionIndex, page.starting_token, page.starting_token + page.limit);
  return found.map((row) => rendered(template, toExperimentRow(row).variables));
}

/** A text rendered for inputs: one that is a JSON object binds its keys, any other is `input`. */
export function renderForInputs(template: string, inputs: readonly string[]): RenderedText[] {
  return inputs.map((input) => rendered(template, { input, ...objectIn(input) }));
}

function rendered(template: string, variables: Record<string, unknown>): RenderedText {
  const { text, unknown } = renderText(template, variables);
  if (unknown.length === 0) return { result: text, warning: null };
  const names = unknown.map((name) => `{{${name}}}`).join(', ');
  return { result: text, warning: `nothing is bound to ${names}; left empty` };
}

function objectIn(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
