import { z } from 'zod';
import { isBlank } from '../../wire/isBlank.ts';
import type { Score, ScoreContext, ScoredRecord } from '../metric.ts';
import { NOTHING_RETRIEVED } from '../reasons.ts';
import type { AnswerForm } from './answerForms.ts';
import { askJudge } from './askJudge.ts';
import { judgePrompt } from './judgePrompt.ts';
import { documentMaterial, inputOf } from './material.ts';

/** Documents that are judged of one record. */
const MAX_DOCUMENTS = 100;

/** The retrieval below a record, or by it: the documents that a judge is shown, in the order in which they came, and how many more there are. */
interface Retrieved {
  documents: string[];
  left: number;
}

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
  const input = inputOf(record);
  if (!input) return { notApplicable: 'the record has no input' };
  const { documents, left } = retrievedBy(record);
  if (documents.length === 0) return { notApplicable: NOTHING_RETRIEVED };
  const score = await askJudge(
    {
      task: judgePrompt('relevantDocuments').task.replace('{{numbering}}', numbering(left)),
      material: [input, ...documentMaterial(documents)],
      answer: numbersUpTo(documents.length),
    },
    context,
  );
  if (!('value' in score)) return score;
  const numbers = new Set((score.value as string[]).map(Number));
  const relevant = documents.map((_, index) => numbers.has(index + 1));
  const metadata = { ...score.metadata, relevant_documents: [...numbers], ...countsOf({ documents, left }) };
  return { ...score, value: figure(relevant), metadata };
}

export function retrievedBy({ kind, output, spans = [] }: ScoredRecord): Retrieved {
  const answers = kind === 'retriever' ? [output] : spans.filter((span) => span.kind === 'retriever').map((span) => span.output);
  // A retriever inside another gives the same documents, and so may two that are asked alike.
  const all = [...new Set(answers.flatMap(documentsIn))];
  return { documents: all.slice(0, MAX_DOCUMENTS), left: Math.max(0, all.length - MAX_DOCUMENTS) };
}

/** The instruction that says how a judge names documents. */
export const numbering = (left: number): string =>
  `The documents are numbered from 1${left > 0 ? `, and ${left} more are not shown` : ''}.`;

/** The metadata that a score says of what it was made from. */
export const countsOf = ({ documents, left }: Retrieved): Record<string, number> => ({
  documents: documents.length,
  ...(left > 0 ? { documents_left_out: left } : {}),
});

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
