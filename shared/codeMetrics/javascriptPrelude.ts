/**
 * The program that runs in the interpreter beside the JavaScript of metrics. Its value has `open`, which takes what the code
 * exports and gives a function `(record, scores)`: that describes the code, has it score a record or sum up values, and gives the answer as JSON or a
 * promise of it. `failed` gives the answer that says an error.
 */
export const javascriptPrelude = `(() => {
const { parse, stringify } = JSON;
const { isArray } = Array;
const MAX_TEXT = 10_000, MAX_METADATA = 8_192, MAX_AGGREGATES = 50, MAX_NAME = 100, MAX_AGGREGATE_TEXT = 1_000;
const TYPES = ['bool', 'int', 'float', 'str'];
class Refused extends Error {}

const isObject = (value) => typeof value === 'object' && value !== null && !isArray(value);
const shown = (value) => String(typeof value === 'function' ? 'a function' : (stringify(value) ?? value)).slice(0, 100);

function errorText(error) {
  if (error instanceof Refused) return error.message;
  if (!(error instanceof Error)) return 'the code threw ' + shown(error);
  const line = /scorer\\.js:(\\d+)/.exec(error.stack ?? '')?.[1];
  return error.name + ': ' + String(error.message).slice(0, 1_000) + (line === undefined ? '' : ' (line ' + line + ')');
}

/** Numbers, booleans and texts, of the type that the code says. */
function fitting(value, type) {
  if (typeof value === 'string' && (type === 'str' || type === null)) {
    if (value.length > MAX_TEXT) throw new Refused('scorer gave a text of ' + value.length + ' characters; at most ' + MAX_TEXT + ' are kept');
    return value;
  }
  if (typeof value === 'boolean' && type !== 'str') return type === 'int' || type === 'float' ? Number(value) : value;
  if (typeof value === 'number' && !Number.isFinite(value)) throw new Refused('scorer gave ' + value + ', which is no number');
  if (typeof value === 'number' && (type === 'float' || type === null || (type === 'int' && Number.isInteger(value)))) {
    if (type === 'int' && Math.abs(value) > 2 ** 53) throw new Refused('scorer gave a number that is too large');
    return value;
  }
  throw new Refused('scorer gave ' + shown(value) + '; its score type is ' + (type ?? 'a number, a boolean or a text'));
}

/** A value alone, or one with metadata beside it. */
function scoreOf(given, type) {
  const isPair = isObject(given) && 'value' in given;
  if (isObject(given) && !isPair) throw new Refused('scorer gave an object without a value');
  const value = isPair ? given.value : given;
  if (value === null || value === undefined) return { none: true };
  const metadata = isPair && isObject(given.metadata) ? stringify(given.metadata) : undefined;
  const isKept = metadata !== undefined && metadata.length <= MAX_METADATA;
  return { value: fitting(value, type), metadata: isKept ? parse(metadata) : null };
}

function sumsOf(given) {
  if (!isObject(given)) throw new Refused('aggregate gave no object of names and values');
  const entries = Object.entries(given);
  if (entries.length > MAX_AGGREGATES) throw new Refused('aggregate gave ' + entries.length + ' values; at most ' + MAX_AGGREGATES + ' are kept');
  for (const [name, value] of entries) {
    const isValue = value === null || typeof value === 'boolean' || typeof value === 'string' || Number.isFinite(value);
    if (!isValue) throw new Refused('aggregate gave ' + shown(value) + ' for "' + name.slice(0, 100) + '"; values are numbers, booleans, texts or null');
    if (name.length > MAX_NAME || (typeof value === 'string' && value.length > MAX_AGGREGATE_TEXT))
      throw new Refused('names have at most ' + MAX_NAME + ' characters, and texts ' + MAX_AGGREGATE_TEXT);
  }
  return { values: given };
}

function argumentsOf(record) {
  const { input, output, dataset_output: reference, dataset_variables: variables, required_scores: requiredScores = {} } = record;
  return { input, output, reference, variables, requiredScores, record };
}

const failed = (error) => {
  const isMemory = error instanceof InternalError && error.message === 'out of memory';
  return isMemory ? '{"fault":"memory"}' : stringify({ error: errorText(error) });
};

const open = (exported) => {
  const { default: scorer = exported.scorer, scoreType = null, nodeTypes = null, aggregate } = exported;
  const problem =
    typeof scorer !== 'function' ? 'the code exports no function: export default function scorer({ input, output }) { … }'
    : scoreType !== null && !TYPES.includes(scoreType) ? 'scoreType is ' + shown(scoreType) + '; it must be one of ' + TYPES.join(', ')
    : nodeTypes !== null && !(isArray(nodeTypes) && nodeTypes.every((type) => typeof type === 'string')) ? 'nodeTypes is no list of names'
    : aggregate !== undefined && typeof aggregate !== 'function' ? 'aggregate is no function'
    : undefined;
  const answerTo = (record, scores) => {
    if (problem !== undefined) throw new Refused(problem);
    if (scores !== undefined) {
      if (!aggregate) throw new Refused('the code exports no function aggregate');
      return [aggregate(parse(scores)), sumsOf];
    }
    if (record !== undefined) return [scorer(argumentsOf(parse(record))), (given) => scoreOf(given, scoreType)];
    return [{ scoreType, nodeTypes, aggregates: aggregate !== undefined }, (described) => described];
  };
  return (record, scores) => {
    try {
      const [given, read] = answerTo(record, scores);
      if (given instanceof Promise) return given.then((value) => stringify(read(value))).catch(failed);
      return stringify(read(given));
    } catch (error) {
      return failed(error);
    }
  };
};

return { open, failed };
})()`;
