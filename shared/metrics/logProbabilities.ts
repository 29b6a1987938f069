import { parsedOrNothing } from '../json/parseJson.ts';
import { isExact } from '../wire/exactNumber.ts';
import { isObject } from '../wire/isObject.ts';
import { logProbabilityIn } from '../wire/logProbability.ts';
import type { Metric, Score, ScoredRecord } from './metric.ts';

/** Where a record holds the log probabilities of its tokens: as JSON in its metadata. */
type LogProbabilityKey = 'logprobs' | 'prompt_logprobs';

/** The mean of −log p over the tokens, in nats, and how many there are where that is known. */
interface Surprise {
  nats: number;
  tokens?: number;
}

/** Reads what endpoints answer: those of OpenAI's protocol, vLLM, Gemini. */
function meanSurprise(record: ScoredRecord, key: LogProbabilityKey): Surprise | { notApplicable: string } {
  const given = Object.hasOwn(record.metadata, key) ? record.metadata[key] : undefined;
  if (given === undefined || given === null || given === '')
    return {
      notApplicable: isUnsaid(record, key)
        ? `the endpoint of the model gives no log probabilities: it was asked without \`${key}\``
        : `the metadata of the record has no \`${key}\`: log probabilities of its tokens`,
    };
  const read = surpriseIn(typeof given === 'string' ? parsedOrNothing(given) : given);
  if (read === undefined)
    return { notApplicable: `\`${key}\` of the metadata is no list of log probabilities (numbers up to 0)` };
  if (read === 'empty') return { notApplicable: `\`${key}\` of the metadata is empty` };
  return read;
}

/** True of a call of the service's own that would have asked for them. */
function isUnsaid({ metadata }: ScoredRecord, key: LogProbabilityKey): boolean {
  const notes = typeof metadata.sent_otherwise === 'string' ? parsedOrNothing(metadata.sent_otherwise) : undefined;
  return Array.isArray(notes) && notes.includes(`${key} is not sent`);
}

/**
 * `[-0.1, …]`, `[{"logprob": -0.1}, …]`, and either as the `content` or the `token_logprobs` of an object; vLLM has each token of a prompt under its id,
 * Gemini a list beside the mean. The first token of a prompt has none.
 */
function surpriseIn(given: unknown): Surprise | 'empty' | undefined {
  const said = isObject(given) && isObject(given.logprobsResult) ? given.logprobsResult : given;
  const list = isObject(said) ? (said.content ?? said.token_logprobs ?? said.chosenCandidates) : said;
  if (!Array.isArray(list)) return isObject(given) ? averageIn(given) : undefined;
  const numbers = list.flatMap((one, index) => (one === null && index === 0 ? [] : [logProbabilityOf(one)]));
  if (numbers.length === 0) return 'empty';
  if (!numbers.every((one) => one !== undefined)) return undefined;
  return { nats: numbers.reduce((sum, one) => sum - one, 0) / numbers.length, tokens: numbers.length };
}

/** The mean alone, as Gemini gives it and as the service keeps that of a prompt. */
function averageIn({ avgLogprobs, tokens }: Record<string, unknown>): Surprise | undefined {
  const average = logProbabilityIn(avgLogprobs);
  const count = isExact(tokens) ? Number(tokens) : tokens;
  return average === undefined ? undefined : { nats: -average, ...(typeof count === 'number' && { tokens: count }) };
}

function logProbabilityOf(one: unknown): number | undefined {
  if (!isObject(one) || isExact(one)) return logProbabilityIn(one);
  if ('logprob' in one || 'logProbability' in one) return logProbabilityIn(one.logprob ?? one.logProbability);
  const [only, ...others] = Object.values(one);
  return isObject(only) && others.length === 0 ? logProbabilityIn(only.logprob) : undefined;
}

/** The parts that the metrics of log probabilities share. They belong to one call of a model. */
export const LOG_PROBABILITIES: Omit<Metric, 'name' | 'label' | 'description' | 'score'> = {
  groupLabel: 'Model Confidence Metrics',
  dataType: 'floating_point',
  dataUnit: null,
  outputType: 'count',
  rollUp: 'average',
  threshold: null,
  direction: 'lower',
  range: null,
  kinds: ['llm'],
  needs: 'code',
  needsReference: false,
  needsParts: ['log_probabilities'],
};

/** A figure made of the mean of −log p over the tokens, in nats. */
export const ofSurprise =
  (key: LogProbabilityKey, figure: (nats: number) => number) =>
  (record: ScoredRecord): Score => {
    const mean = meanSurprise(record, key);
    if ('notApplicable' in mean) return mean;
    return { value: figure(mean.nats), ...(mean.tokens !== undefined && { metadata: { tokens: mean.tokens } }) };
  };
