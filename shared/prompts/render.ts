import { z } from 'zod';
import { RequestInvalid } from '../errors/errors.ts';
import { closestNames } from '../identifiers/closestNames.ts';
import { parseAsWritten, parsedOrNothing } from '../json/parseJson.ts';
import { MAX_PROMPT, MAX_TEXT, replaceWithin, TextBudget, TextTooLarge } from './boundedText.ts';

export type MessagePart = { type: 'text'; text: string } | { type: 'file'; file_id: string };
/** One message of a prompt. Keys beside these two are kept as they came. */
export interface PromptMessage {
  role: string;
  content: string | MessagePart[];
  [key: string]: unknown;
}
/** A prompt as it is stored: a text, which is one user message, or messages. */
export type PromptTemplate = string | PromptMessage[];

/**
 * A variable is a name between double braces, white space around it ignored: `{{input}}`, `{{ input.question }}`. Quotes and braces cannot be in a
 * name, so JSON in a prompt stays what it is. `{{{input}}}` is the same, as in Mustache: nothing is escaped. A backslash before the braces makes them text.
 * There are no sections, helpers or expressions: a prompt is data and never runs.
 */
const variable = /\\(\{\{\{?[^{}"]+\}\}\}?)|\{\{\{([^{}"]+)\}\}\}|\{\{([^{}"]+)\}\}/g;

/**
 * The messages of a template for these variables. A value is put in as it is (no escaping): texts as they are, null as nothing, objects as JSON
 * text. A variable without a value becomes empty text.
 * A text that then is a JSON list of parts, of which one names a file, becomes those parts.
 * @throws TextTooLarge when a text would have more than {@link MAX_TEXT} characters, or all of them more than {@link MAX_PROMPT}.
 */
export function renderPrompt(template: PromptTemplate, variables: Readonly<Record<string, unknown>>): PromptMessage[] {
  const rendering = new Rendering(variables, new TextBudget('the rendered prompt', MAX_PROMPT));
  return mapTexts(template, (text) => rendering.render(text).text).map(withNamedFiles);
}

/** Replaces a text that is a JSON list of parts, such as the value of a row that names files, by these parts. */
function withNamedFiles(message: PromptMessage): PromptMessage {
  const { content } = message;
  if (typeof content === 'string') return { ...message, content: partsIn(content) ?? content };
  return { ...message, content: content.flatMap((part) => (part.type === 'text' ? (partsIn(part.text) ?? part) : part)) };
}

/** The parts of a text; undefined where it names no file. */
function partsIn(text: string): MessagePart[] | undefined {
  if (!/^\s*\[/.test(text) || !text.includes('"file_id"')) return undefined;
  const { data: parts } = NamedParts.safeParse(parsedOrNothing(text));
  return parts?.some(({ type }) => type === 'file') ? parts : undefined;
}

const NamedParts = z.array(
  z.union([z.object({ type: z.literal('file'), file_id: z.uuid() }), z.object({ type: z.literal('text'), text: z.string() })]),
);

/** As {@link renderPrompt}, for one text, with the names that bind to nothing. @param whole what it is a part of */
export function renderText(
  text: string,
  variables: Readonly<Record<string, unknown>>,
  whole: TextBudget,
): { text: string; unknown: string[] } {
  return new Rendering(variables, whole).render(text);
}

/**
 * Returns which of these names a row has a value for, and for each other one the names beside it: the members of the last object on its path.
 * @throws TextTooLarge when that takes too many look-ups
 */
export function boundNames(
  names: Iterable<string>,
  variables: Readonly<Record<string, unknown>>,
): { bound: string[]; beside: Map<string, string[]> } {
  return new Rendering(variables, new TextBudget('the names', 0)).bind(names);
}

/** Steps into nested values that one rendering makes: one takes below a microsecond, and no prompt needs a thousandth of them. */
const MAX_STEPS = 1_000_000;

/** The texts of one prompt, with the same variables. A name is looked up once, and JSON text is parsed once, however often it is used. */
class Rendering {
  readonly #variables: Readonly<Record<string, unknown>>;
  readonly #whole: TextBudget;
  readonly #bound = new Map<string, string | undefined>();
  readonly #parsed = new Map<string, unknown>();
  #steps = 0;

  constructor(variables: Readonly<Record<string, unknown>>, whole: TextBudget) {
    this.#variables = variables;
    this.#whole = whole;
  }

  render(text: string): { text: string; unknown: string[] } {
    const unknown = new Set<string>();
    const own = new TextBudget('the rendered text', MAX_TEXT);
    const rendered = replaceWithin(
      text,
      variable,
      ([whole, literal, triple, double]) => {
        if (literal !== undefined) return literal;
        const name = (triple ?? double ?? '').trim();
        if (name === '') return whole;
        const value = this.#textOf(name);
        if (value === undefined) unknown.add(name);
        return value ?? '';
      },
      own,
    );
    this.#whole.take(rendered.length);
    return { text: rendered, unknown: [...unknown] };
  }

  bind(names: Iterable<string>): { bound: string[]; beside: Map<string, string[]> } {
    const bound: string[] = [];
    const beside = new Map<string, string[]>();
    for (const name of names) {
      if (this.#boundValue(name)) bound.push(name);
      else beside.set(name, this.#beside(name));
    }
    return { bound, beside };
  }

  #beside(name: string): string[] {
    for (const prefix of prefixes(name).slice(1)) {
      const value = this.#boundValue(prefix)?.value;
      const object = typeof value === 'string' ? this.#objectIn(value) : value;
      if (typeof object === 'object' && object !== null) return Object.keys(object).map((key) => `${prefix}.${key}`);
    }
    return [];
  }

  #textOf(name: string): string | undefined {
    if (this.#bound.has(name)) return this.#bound.get(name);
    const found = this.#boundValue(name);
    const text = found && valueText(found.value);
    this.#bound.set(name, text);
    return text;
  }

  /** A column first, then a field of an object in `input`. */
  #boundValue(name: string): { value: unknown } | undefined {
    return this.#valueAt(name, this.#variables) ?? this.#valueAt(name, this.#ownValue(this.#variables, 'input')?.value);
  }

  /** The value at a dotted path; a key that itself has dots in it is found too, the longest first. */
  #valueAt(path: string, from: unknown): { value: unknown } | undefined {
    for (const prefix of prefixes(path)) {
      const found = this.#ownValue(from, prefix);
      if (!found) continue;
      const inner = prefix === path ? found : this.#valueAt(path.slice(prefix.length + 1), found.value);
      if (inner) return inner;
    }
    return undefined;
  }

  /** Own keys only: what an object inherits (`constructor`, `__proto__`) is not data. JSON text of an object or list is read as such. */
  #ownValue(from: unknown, key: string): { value: unknown } | undefined {
    if (++this.#steps > MAX_STEPS) throw new TextTooLarge(`the variables of the template need more than ${MAX_STEPS} look-ups`);
    const object = typeof from === 'string' ? this.#objectIn(from) : from;
    if (typeof object !== 'object' || object === null || !Object.hasOwn(object, key)) return undefined;
    return { value: (object as Record<string, unknown>)[key] };
  }

  #objectIn(text: string): unknown {
    if (!/^\s*[[{]/.test(text)) return undefined;
    if (!this.#parsed.has(text)) this.#parsed.set(text, asWrittenOrNothing(text));
    return this.#parsed.get(text);
  }
}

/** The names of a template's variables, each once, in order. */
export function promptVariables(template: PromptTemplate): string[] {
  const names = new Set<string>();
  mapTexts(template, (text) => {
    for (const [, , triple, double] of text.matchAll(variable)) {
      const name = (triple ?? double)?.trim();
      if (name) names.add(name);
    }
    return text;
  });
  return [...names];
}

/**
 * Refuses a template with a variable that no row of the data can fill: neither a column nor a path into one, nor a field of the JSON objects in
 * the `input` column. A path into `input` must begin with such a field, or with the position in a list.
 * @throws RequestInvalid naming the variable, the closest one and the columns there are.
 */
export function checkPrompt(
  template: PromptTemplate,
  data: { columnNames: readonly string[]; inputFields?: readonly string[] },
  loc: (string | number)[] = ['body', 'prompt_template_version_id'],
): void {
  const known = new Set([...data.columnNames, ...(data.inputFields ?? [])]);
  const inputFields = new Set(data.inputFields ?? []);
  const isPathOfInput = (name: string): boolean => {
    const path = name.slice(INPUT_PATH.length);
    return /^\d/.test(path) || prefixes(path).some((prefix) => inputFields.has(prefix));
  };
  const unknown = promptVariables(template).filter((name) => {
    if (known.has(name)) return false;
    if (data.inputFields && name.startsWith(INPUT_PATH)) return !isPathOfInput(name);
    return !prefixes(name).some((prefix) => known.has(prefix));
  });
  if (unknown.length === 0) return;
  const names = [...known, ...[...inputFields].map((field) => `${INPUT_PATH}${field}`)];
  const closestTo = (name: string): string => {
    const [closest] = closestNames(name, names, 1);
    return closest === undefined ? '' : `, the closest is {{${closest}}}`;
  };
  const columns = data.columnNames.length > 0 ? someOf(data.columnNames) : 'none';
  const fields = data.inputFields?.length ? `; fields of its input: ${someOf(data.inputFields)}` : '';
  throw new RequestInvalid(
    unknown.slice(0, MAX_NAMED).map((name) => ({
      loc,
      type: 'prompt_variable_unknown',
      msg: `the prompt uses {{${name}}}, which the data does not have${closestTo(name)}; columns of the data: ${columns}${fields}`,
      ctx: { variable: name },
    })),
  );
}

const INPUT_PATH = 'input.';

/** Names that an error lists, and unknown variables that it has items for: each item lists all of the former. */
const MAX_NAMED = 100;

const someOf = (names: readonly string[]): string =>
  names.length > MAX_NAMED ? `${names.slice(0, MAX_NAMED).join(', ')} and ${names.length - MAX_NAMED} more` : names.join(', ');

function mapTexts(template: PromptTemplate, map: (text: string) => string): PromptMessage[] {
  if (typeof template === 'string') return [{ role: 'user', content: map(template) }];
  return template.map((message) => ({
    ...message,
    content:
      typeof message.content === 'string'
        ? map(message.content)
        : message.content.map((part) => (part.type === 'text' ? { ...part, text: map(part.text) } : part)),
  }));
}

/** `a.b.c`, `a.b`, `a`. At most 10 steps: more costs more than any data needs, and names come from callers. */
function prefixes(path: string): string[] {
  const steps = path.split('.', 10);
  return steps.map((_, index) => steps.slice(0, steps.length - index).join('.')).with(0, path);
}

function asWrittenOrNothing(text: string): unknown {
  try {
    // A number keeps its digits: 1.50 and 12345678901234567890 are put in as they are written.
    return parseAsWritten(text);
  } catch {
    return undefined;
  }
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
