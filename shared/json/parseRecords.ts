import { jsonWithSources as json } from './jsonWithSources.ts';

/** Fields that are kept as text, or as JSON, whatever they hold. */
const textFields: ReadonlySet<string> = new Set([
  ...['user_metadata', 'dataset_metadata', 'metadata', 'tags', 'input', 'output', 'redacted_input', 'redacted_output'],
  ...['dataset_input', 'dataset_output'],
]);

/** A whole number that may have more digits than a double. Times in microseconds have fewer. */
const LARGE = /[:[,]\s*-?(?:9\d{15}|\d{17,})\s*[,}\]]/;
const WHOLE = /^-?\d+$/;

/**
 * JSON of records. In fields that become text a whole number that no double holds keeps its digits, as many ids have more than 15 of them: it is an object
 * that is written as that number.
 * @throws SyntaxError
 */
export function parseRecords(text: string): unknown {
  if (!LARGE.test(text)) return JSON.parse(text);
  try {
    const whole = {
      value: json.parse(text, (_key, value, { source = '' }) =>
        typeof value === 'number' && !Number.isSafeInteger(value) && WHOLE.test(source) ? json.rawJSON(source) : value,
      ),
    };
    numbersAgain(whole);
    return whole.value;
  } catch (err) {
    // Such a reader calls itself for each level of nesting.
    if (err instanceof RangeError) return JSON.parse(text);
    throw err;
  }
}

/** Makes numbers of those that stand elsewhere. Iterative: depth costs no stack. */
function numbersAgain(whole: object): void {
  const open = [whole as Record<string, unknown>];
  for (let container = open.pop(); container; container = open.pop())
    for (const key of Object.keys(container)) {
      const inner = container[key];
      if (typeof inner !== 'object' || inner === null || textFields.has(key)) continue;
      if (json.isRawJSON(inner)) container[key] = Number(inner.rawJSON);
      else open.push(inner as Record<string, unknown>);
    }
}
