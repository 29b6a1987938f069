import { z } from 'zod';
import { isBlank } from '../../wire/isBlank.ts';
import type { Score, ScoreContext, ScoredRecord } from '../metric.ts';
import { NOTHING_RETRIEVED } from '../reasons.ts';
import type { AnswerForm } from './answerForms.ts';
import { askJudge } from './askJudge.ts';
import { documentMaterial, inputOf } from './material.ts';

/** Documents that are judged of one record. */
const MAX_DOCUMENTS = 100;

const Documents = z.array(z.object({ content: z.string() }).loose());

/**
 * A fraction made of a judge's word on each document that was retrieved below the record, in the order in which they came.
 * @param figure from whether each document is relevant, best ranked first, at least one
 */
export async function scoreDocuments(
  record: ScoredRecord,
  figure: (relevant: readonly boolean[]) => number,
  context: ScoreContext,
): Promise<Score> {
  const { kind, output, spans = [] } = record;
  const input = inputOf(record);
  if (!input) return { notApplicable: 'the record has no input' };
  const answers = kind === 'retriever' ? [output] : spans.filter((span) => span.kind === 'retriever').map((span) => span.output);
  // A retriever inside another gives the same documents, and so may two that are asked alike.
  const all = [...new Set(answers.flatMap(documentsIn))];
  const documents = all.slice(0, MAX_DOCUMENTS);
  if (documents.length === 0) return { notApplicable: NOTHING_RETRIEVED };
  const left = all.length - documents.length;
  const score = await askJudge(
    {
      task:
        'Decide of each document whether it is relevant: whether it says something that helps to answer the input. A document on the same subject that does not help is not relevant. ' +
        `The documents are numbered from 1${left > 0 ? `, and ${left} more are not shown` : ''}. Give the numbers of those that are relevant.`,
      material: [input, ...documentMaterial(documents)],
      answer: numbersUpTo(documents.length),
    },
    context,
  );
  if (!('value' in score)) return score;
  const numbers = new Set((score.value as string[]).map(Number));
  const relevant = documents.map((_, index) => numbers.has(index + 1));
  const counts = { documents: documents.length, ...(left > 0 ? { documents_left_out: left } : {}) };
  return { ...score, value: figure(relevant), metadata: { ...score.metadata, relevant_documents: [...numbers], ...counts } };
}

function documentsIn(output: string | null): string[] {
  if (isBlank(output)) return [];
  try {
    const read = Documents.safeParse(JSON.parse(output));
    if (read.success) return read.data.map(({ content }) => content).filter((content) => !isBlank(content));
  } catch {
    // A text of another form is one document.
  }
  return [output];
}

const numbersUpTo = (most: number): AnswerForm => ({
  field: 'relevant',
  wanted: `an array of whole numbers from 1 to ${most}; empty when none is`,
  schema: { type: 'array', items: { type: 'integer', minimum: 1, maximum: most } },
  read: (verdict) => {
    const read = z.array(z.coerce.number().int().min(1).max(most)).safeParse(verdict);
    return read.success ? [...new Set(read.data)].sort((one, other) => one - other).map(String) : undefined;
  },
});
