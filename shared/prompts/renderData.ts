import { freeTurn } from '../concurrency/freeTurn.ts';
import { templateVariables, toExperimentRow } from '../datasets/experimentRow.ts';
import type { DatasetRowStore } from '../datasets/rowStore.ts';
import { RequestInvalid } from '../errors/errors.ts';
import { parseJson } from '../json/parseJson.ts';
import type { PageRequest } from '../wire/common.ts';
import { isObject } from '../wire/isObject.ts';
import { TextBudget, TextTooLarge } from './boundedText.ts';
import { renderText } from './render.ts';

export interface RenderedText {
  result: string;
  warning: string | null;
}

/** Characters of all texts of one answer. */
const MAX_ANSWER = 32 * 1024 * 1024;

/**
 * A text rendered for rows of a dataset version, as an experiment would see them.
 * @throws RequestInvalid when what is to be rendered is too large, as a text or all together.
 */
export async function renderForRows(
  template: string,
  rows: Pick<DatasetRowStore, 'page'>,
  { datasetId, versionIndex, numRows }: { datasetId: string; versionIndex: number; numRows: number },
  page: PageRequest,
): Promise<RenderedText[]> {
  const answer = new RenderedAnswer(template);
  const end = Math.min(numRows, page.starting_token + page.limit);
  for (let from = page.starting_token; from < end; ) {
    const found = await rows.page(datasetId, versionIndex, from, end);
    if (found.length === 0) break;
    for (const row of found) {
      answer.add(templateVariables(toExperimentRow(row)));
      await freeTurn();
    }
    from += found.length;
  }
  return answer.texts;
}

/** A text rendered for inputs: one that is a JSON object binds its keys, any other is `input`. @throws RequestInvalid as {@link renderForRows} */
export async function renderForInputs(template: string, inputs: readonly string[]): Promise<RenderedText[]> {
  const answer = new RenderedAnswer(template);
  for (const input of inputs) {
    answer.add({ input, ...objectIn(input) });
    await freeTurn();
  }
  return answer.texts;
}

/** The texts of one answer. The template counts for each of them as well: going through it takes time even where nothing comes of it. */
class RenderedAnswer {
  readonly texts: RenderedText[] = [];
  readonly #template: string;
  readonly #whole = new TextBudget('all that is rendered', MAX_ANSWER);

  constructor(template: string) {
    this.#template = template;
  }

  add(variables: Record<string, unknown>): void {
    try {
      this.#whole.take(this.#template.length);
      const { text, unknown } = renderText(this.#template, variables, this.#whole);
      this.texts.push({ result: text, warning: this.#warning(unknown) });
    } catch (err) {
      if (!(err instanceof TextTooLarge)) throw err;
      const msg = `${err.message}: give a shorter template or smaller values, or ask for fewer at a time with \`limit\``;
      throw new RequestInvalid([{ loc: ['body', 'template'], type: 'rendering_too_large', msg }]);
    }
  }

  #warning(unknown: readonly string[]): string | null {
    if (unknown.length === 0) return null;
    const names = unknown.map((name) => `{{${name}}}`).join(', ');
    this.#whole.take(names.length);
    return `nothing is bound to ${names}; left empty`;
  }
}

function objectIn(text: string): object | undefined {
  try {
    const value: unknown = parseJson(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
