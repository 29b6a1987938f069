import type { Score, ScoreContext, ScoredRecord } from '../metric.ts';
import { NOTHING_RETRIEVED } from '../reasons.ts';
import type { AnswerForm } from './answerForms.ts';
import { askJudge, type JudgeQuestion } from './askJudge.ts';
import { documentMaterial } from './material.ts';
import { countsOf, numbering, retrievedBy } from './relevantDocuments.ts';

/**
 * A yes/no question about each document that was retrieved below the record, or by it: the verdicts in the order in which the documents came.
 * @param question its material stands before the documents
 * @param answerFor the form of an answer about so many documents
 */
export async function judgeEachDocument(
  record: ScoredRecord,
  { task, material, explain }: Pick<JudgeQuestion, 'task' | 'material' | 'explain'>,
  answerFor: (documents: number) => AnswerForm,
  context: ScoreContext,
): Promise<Score> {
  const { documents, left } = retrievedBy(record);
  if (documents.length === 0) return { notApplicable: NOTHING_RETRIEVED };
  const score = await askJudge(
    {
      task: `${task}\n\nDecide this of each document by itself. ${numbering(left)}`,
      material: [...material, ...documentMaterial(documents)],
      answer: answerFor(documents.length),
      ...(explain === undefined ? {} : { explain }),
    },
    context,
  );
  return 'value' in score ? { ...score, metadata: { ...score.metadata, ...countsOf({ documents, left }) } } : score;
}
