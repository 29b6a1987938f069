import { parsedOrNothing } from '../json/parseJson.ts';
import { isExact } from '../wire/exactNumber.ts';
import { isObject } from '../wire/isObject.ts';
import type { Metric, Score, ScoredRecord } from './metric.ts';

/** Where a record holds the log probabilities of its tokens: as JSON in its metadata. */
type LogProbabilityKey = 'logprobs' | 'prompt_logprobs';

/** The mean of −log p over the tokens, in nats, and how many there are. Reads what OpenAI's and compatible endpoints answer. */
function meanSurprise(
  record: ScoredRecord,
  key: LogProbabilityKey,
): { nats: number; tokens: number } | { notApplicable: string } {
  const given = Object.hasOwn(record.metadata, key) ? record.metadata[key] : undefined;
  if (given === undefined || given === null || given === '')
    return { notApplicable: `the metadata of the record has no \`${key}\`: log probabilities of its tokens` };
  const read = logProbabilitiesIn(typeof given === 'string' ? parsedOrNothing(given) : given);
  if (read === undefined)
    return { notApplicable: `\`${key}\` of the metadata is no list of log probabilities (numbers up to 0)` };
  if (read.length === 0) return { notApplicable: `\`${key}\` of the metadata is empty` };
  return { nats: read.reduce((sum, one) => sum - one, 0) / read.length, tokens: read.length };
}

/** `[-0.1, …]`, `[{"logprob": -0.1}, …]`, and either as the `content` or the `token_logprobs` of an object. The first token of a prompt has none. */
function logProbabilitiesIn(given: unknown): number[] | undefined {
  const list = isObject(given) ? (given.content ?? given.token_logprobs) : given;
  if (!Array.isArray(list)) return undefined;
  const values = list.flatMap((one, index) => (one === null && index === 0 ? [] : [isObject(one) ? one.logprob : one]));
  const numbers = values.map((one) => (isExact(one) ? Number(one) : one));
  return numbers.every((one) => typeof one === 'number' && one <= 0) ? (numbers as number[]) : undefined;
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
    return 'notApplicable' in mean ? mean : { value: figure(mean.nats), metadata: { tokens: mean.tokens } };
  };
