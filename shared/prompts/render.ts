import { RequestInvalid } from '../errors.ts';

export type MessagePart = { type: 'text'; text: string } | { type: 'file'; file_id: string };
/** One message of a prompt. Keys beside these two are kept as they came. */
export interface PromptMessage {
  role: string;
  content: string | MessagePart[];
  [key: string]: unknown;
}
/** A prompt as it is stored: a text, which stands for one user message, or messages. */
export type PromptTemplate = string | PromptMessage[];

/**
 * A variable is a name between double braces, white space around it ignored: `{{input}}`, `{{ input.question }}`. Quotes and braces cannot be in a
 * name, so JSON in a prompt stays what it is. There are no sections, helpers or expressions: a prompt is data and never runs.
 */
const variable = /\{\{([^{}"]+)\}\}/g;

/**
 * The messages of a template for these variables. A value is put in as it is (no escaping): texts as they are, null as nothing, objects as JSON
 * text. A variable without a value becomes empty text.
 */
export function renderPrompt(template: PromptTemplate, variables: Readonly<Record<string, unknown>>): PromptMessage[] {
  return mapTexts(template, (text) => renderText(text, variables).text);
}

/** As {@link renderPrompt}, for one text, with the names that bind to nothing. */
export function renderText(text: string, variables: Readonly<Record<string, unknown>>): { text: string; unknown: string[] } {
  const unknown = new Set<string>();
  const rendered = text.replaceAll(variable, (whole, inner: string) => {
    const name = inner.trim();
    if (name === '') return whole;
    const found = boundValue(name, variables);
    if (!found) unknown.add(name);
    return found ? valueText(found.value) : '';
  });
  return { text: rendered, unknown: [...unknown] };
}

/** The names of a template's variables, each once, in order. */
export function promptVariables(template: PromptTemplate): string[] {
  const names = new Set<string>();
  mapTexts(template, (text) => {
    for (const [, inner] of text.matchAll(variable)) if (inner?.trim()) names.add(inner.trim());
    return text;
  });
  return [...names];
}

/**
 * Refuses a template with a variable that no row of the data can fill: neither a column nor a path into one, nor a field of the JSON objects in
 * the `input` column.
 * @throws RequestInvalid naming the variable and the columns there are.
 */
export function checkPrompt(
  template: PromptTemplate,
  data: { columnNames: readonly string[]; inputFields?: readonly string[] },
  loc: (string | number)[] = ['body', 'prompt_template_version_id'],
): void {
  const known = new Set([...data.columnNames, ...(data.inputFields ?? [])]);
  const unknown = promptVariables(template).filter((name) => !prefixes(name).some((prefix) => known.has(prefix)));
  if (unknown.length === 0) return;
  const columns = data.columnNames.length > 0 ? data.columnNames.join(', ') : 'none';
  const fields = data.inputFields?.length ? `; fields of its input: ${data.inputFields.join(', ')}` : '';
  throw new RequestInvalid(
    unknown.map((name) => ({
      loc,
      type: 'prompt_variable_unknown',
      msg: `the prompt uses {{${name}}}, which the data does not have; columns of the data: ${columns}${fields}`,
      ctx: { variable: name },
    })),
  );
}

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

/** A column first, then a field of an object in `input`. */
function boundValue(name: string, variables: Readonly<Record<string, unknown>>): { value: unknown } | undefined {
  return valueAt(name, variables) ?? valueAt(name, ownValue(variables, 'input')?.value);
}

/** The value at a dotted path; a key that itself has dots in it is found too, the longest first. */
function valueAt(path: string, from: unknown): { value: unknown } | undefined {
  for (const prefix of prefixes(path)) {
    const found = ownValue(from, prefix);
    if (!found) continue;
    const inner = prefix === path ? found : valueAt(path.slice(prefix.length + 1), found.value);
    if (inner) return inner;
  }
  return undefined;
}

/** `a.b.c`, `a.b`, `a`. At most 10 steps: more costs more than any data needs, and names come from callers. */
function prefixes(path: string): string[] {
  const steps = path.split('.', 10);
  return steps.map((_, index) => steps.slice(0, steps.length - index).join('.')).with(0, path);
}

/** Own keys only: what an object inherits (`constructor`, `__proto__`) is not data. JSON text of an object or list is read as such. */
function ownValue(from: unknown, key: string): { value: unknown } | undefined {
  const holder = typeof from === 'string' ? parsedHolder(from) : from;
  if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, key)) return undefined;
  return { value: (holder as Record<string, unknown>)[key] };
}

function parsedHolder(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
