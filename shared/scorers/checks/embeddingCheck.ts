import { parsedOrNothing } from '../../json/parseJson.ts';
import { callFailure, usageOfOne } from '../../metrics/judging/askJudge.ts';
import type { JudgeAnswer, Score, ScoreContext, ScoredRecord } from '../../metrics/metric.ts';
import { NO_REFERENCE } from '../../metrics/reasons.ts';
import type { Check } from '../../wire/checks.ts';
import { isBlank } from '../../wire/isBlank.ts';

/** As that of promptfoo's `similar`. */
const DEFAULT_THRESHOLD = 0.75;

/** Compares the meaning of the output with that of the reference output, by the cosine of their embeddings. */
export const embeddingCheck =
  ({ threshold = DEFAULT_THRESHOLD }: Extract<Check, { type: 'embedding_similarity' }>) =>
  async ({ output, datasetOutput }: ScoredRecord, context: ScoreContext): Promise<Score> => {
    if (datasetOutput === null || isBlank(datasetOutput)) return { notApplicable: NO_REFERENCE };
    if (output === null || isBlank(output)) return { notApplicable: 'the record has no output' };
    let answer: JudgeAnswer;
    try {
      answer = await context.complete({ prompt: '', embeds: [output, datasetOutput], signal: context.signal });
    } catch (err) {
      return callFailure('the embedding model', err, context);
    }
    const usage = usageOfOne(answer);
    const similarity = similarityOf(parsedOrNothing(answer.text));
    if (typeof similarity === 'string') return { error: `the embedding model ${similarity}`, usage };
    return {
      value: similarity >= threshold,
      explanation: `the similarity is ${similarity.toFixed(3)}`,
      metadata: { similarity },
      usage,
    };
  };

/** The cosine similarity of two embeddings, or why there is none. */
function similarityOf(given: unknown): number | string {
  const vectors: unknown[] = Array.isArray(given) ? given : [];
  if (vectors.length !== 2) return `gave ${vectors.length} embeddings of 2 texts`;
  const [one, other] = vectors.map(unitVector);
  if (one === undefined || other === undefined) return 'gave an embedding that is no list of numbers, or has no direction';
  if (one.length !== other.length) return `gave embeddings of ${one.length} and ${other.length} dimensions`;
  const cosine = one.reduce((sum, part, at) => sum + part * (other[at] as number), 0);
  // Equal vectors are 1, whatever rounding leaves.
  return Math.min(1, Math.max(-1, Math.round(cosine * 1e12) / 1e12));
}

/** The vector with a length of 1. Undefined where it has none, or holds what is no number. */
function unitVector(given: unknown): number[] | undefined {
  if (!Array.isArray(given)) return undefined;
  // Numbers with more digits than a double has are read as objects.
  const parts = given.map((part) => (typeof part === 'number' || part instanceof Number ? Number(part) : Number.NaN));
  const length = Math.hypot(...parts);
  return Number.isFinite(length) && length > 0 ? parts.map((part) => part / length) : undefined;
}
