import type { ReportedUsage } from './spanContent.ts';

/** A number of one call: as `ReportedUsage` names it, or a part of the cost. */
export type Figure = keyof ReportedUsage | 'inputCostUsd' | 'outputCostUsd';

/** The meaning of a word of a name. `plain` words only say that tokens are counted. */
type Meaning = 'plain' | 'input' | 'output' | 'total' | 'cache' | 'read' | 'write' | 'reasoning' | 'audio' | 'image';

/**
 * The words that names of token counts consist of, in all conventions: OpenTelemetry (`cache_read.input_tokens`), OpenInference
 * (`prompt_details.cache_read`), the AI SDK (`inputTokenDetails.cacheReadTokens`), and the answers of providers (`cache_creation_input_tokens`,
 * `thoughtsTokenCount`, `prompt_tokens_details.cached_tokens`). A name with any other word, such as `cache_miss_tokens`, counts something else.
 */
const meanings: ReadonlyMap<string, Meaning> = new Map(
  Object.entries({
    plain: 'token tokens count counts detail details num number of usage metadata object raw content hit hits',
    input: 'input prompt',
    output: 'output completion candidate candidates response generated',
    total: 'total',
    cache: 'cache cached',
    read: 'read reads',
    write: 'write writes written creation create created',
    reasoning: 'reasoning thought thoughts thinking',
    audio: 'audio',
    image: 'image images',
  } satisfies Record<Meaning, string>).flatMap(([meaning, words]) =>
    words.split(' ').map((word): [string, Meaning] => [word, meaning as Meaning]),
  ),
);

/** Returns what these words count; undefined where that is no figure of a call. Words of two directions, or of a modality of the cache, are none. */
export function tokensNamed(words: readonly string[]): Figure | undefined {
  const said = new Set<Meaning>();
  for (const word of words) {
    const meaning = meanings.get(word);
    if (meaning === undefined) return undefined;
    said.add(meaning);
  }
  const [isInput, isOutput] = [said.has('input'), said.has('output')];
  if (said.has('cache')) {
    if (said.has('audio') || said.has('image') || said.has('reasoning') || isOutput) return undefined;
    return said.has('write') ? 'cacheWriteTokens' : 'cachedTokens';
  }
  if (said.has('read') || said.has('write') || (isInput && isOutput)) return undefined;
  if (said.has('audio')) return isInput ? 'audioInputTokens' : isOutput ? 'audioOutputTokens' : undefined;
  if (said.has('image')) return isInput ? 'imageInputTokens' : isOutput ? 'imageOutputTokens' : undefined;
  if (said.has('reasoning')) return isInput ? undefined : 'reasoningTokens';
  if (isInput) return 'inputTokens';
  if (isOutput) return 'outputTokens';
  if (said.has('total')) return 'totalTokens';
  // The tokens of an embedding are all of its input.
  return words.at(-1) === 'tokens' ? 'inputTokens' : undefined;
}

const ofCost: ReadonlySet<string> = new Set(['cost', 'costs', 'usd', 'dollars', 'detail', 'details', 'total', 'tokens']);

/** Returns which cost these words name, of which `cost` is one; undefined where it is that of a part, such as the cache. */
export function costNamed(words: readonly string[]): Figure | undefined {
  const directions = words.filter((word) => !ofCost.has(word)).map((word) => meanings.get(word));
  if (directions.length === 0) return 'costUsd';
  if (directions.length > 1) return undefined;
  return directions[0] === 'input' ? 'inputCostUsd' : directions[0] === 'output' ? 'outputCostUsd' : undefined;
}

/** The words of a name, in small letters: `cacheRead.input_tokens` has four. */
export const wordsOf = (name: string): string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');

/**
 * Where attributes hold figures: what follows these parts of a name counts tokens. The first that a span has wins; the others fill what it leaves open.
 * The last is that of a library's own names, which must say that they count tokens: `disk.usage.total` does not.
 */
const places: readonly RegExp[] = [
  /^llm\.token_count\.(.+)$/,
  /^gen_ai\.usage\.(.+)$/,
  /^gen_ai\.response\.((?:prompt|completion|input|output|total)_tokens)$/,
  /^llm\.usage\.(.+)$/,
  /^ai\.usage\.(.+)$/,
  /^gen_ai\.token\.usage\.(.+)$/,
  /^gen_ai\.aggregated_usage\.(.+)$/,
  /^(?:llm\.token\.counts|litellm\.tokens)\.(.+)$/,
  /\.usage\.(.*tokens?.*)$/i,
];
/** Names of a model call without any prefix, as Claude Code writes them. */
const bare = /^((?:input|output|total|cache_read|cache_write|cache_creation)_tokens|cost_usd)$/;
/** Matches owners whose costs are those of model calls: `shipping.cost` is not. */
const ownersOfCosts = /^(?:gen_ai|llm|ai|operation|langfuse|langsmith|mlflow|litellm|traceloop|openinference|pydantic_ai)\./;
/** Objects that hold figures, as such or as JSON text; the words of their own names count with those of their keys. */
const holders =
  /(?:^|[._])(?:usage|usage_?metadata|usageMetadata|usage_?details|usage_?object|usage\.raw|token_?usage|tokenUsage|(?:input|output|prompt|completion)_tokens?_details|cost_details|cost)$/;
const PROVIDER_METADATA = /(?:^|\.)(?:providerMetadata|provider_metadata)$/;
/** Tokens beside times; `tokens` is their total. */
const BRAINTRUST_METRICS = 'braintrust.metrics';
/** The answer of a model call of Genkit, beside which there is its usage. */
const GENKIT_OUTPUT = 'genkit:output';

/** Where a span says a figure, in the order in which they count. */
export interface NamedFigures {
  numbers: readonly { name: string; figure: Figure; isBare: boolean }[];
  objects: readonly NamedObject[];
}

interface NamedObject {
  name: string;
  /** The words of its name, which those of its keys add to. */
  words: readonly string[];
  /** Levels of names that say nothing of the figure, such as that of the provider. */
  skipped: number;
  /** The key whose value alone holds figures. */
  within?: string;
}

/** Finds the figures among the names of attributes. */
export function figuresIn(names: readonly string[]): NamedFigures {
  const numbers: (NamedFigures['numbers'][number] & { rank: number })[] = [];
  const objects: NamedObject[] = [];
  for (const name of names) {
    const rank = places.findIndex((place) => place.test(name));
    const tail = places[rank]?.exec(name)?.[1];
    const cost = costIn(name);
    const isBare = bare.test(name);
    const figure = cost ?? (tail === undefined ? undefined : tokensNamed(wordsOf(tail))) ?? (isBare ? ownName(name) : undefined);
    // Where two names have one place, the one in the words of today counts: `input_tokens` before `prompt_tokens`.
    const isOlder = /prompt|completion/.test(name) ? 0.5 : 0;
    if (figure) numbers.push({ name, figure, isBare, rank: (rank === -1 ? places.length : rank) + isOlder });
    if (PROVIDER_METADATA.test(name)) objects.push({ name, words: [], skipped: 1 });
    else if (name === BRAINTRUST_METRICS) objects.push({ name, words: ['total'], skipped: 0 });
    else if (name === GENKIT_OUTPUT) objects.push({ name, words: [], skipped: 0, within: 'usage' });
    else if (holders.test(name)) objects.push({ name, words: wordsOf(name.split('.').at(-1) as string), skipped: 0 });
  }
  numbers.sort((one, other) => one.rank - other.rank);
  return { numbers, objects };
}

const ownName = (name: string): Figure | undefined => (name === 'cost_usd' ? 'costUsd' : tokensNamed(wordsOf(name)));

/** A cost by its part of the name that says so, and what follows. */
function costIn(name: string): Figure | undefined {
  if (!ownersOfCosts.test(name)) return undefined;
  const parts = name.split('.').map(wordsOf);
  const from = parts.findIndex((words) => words.includes('cost') || words.includes('costs'));
  return from === -1 ? undefined : costNamed(parts.slice(from).flat());
}
