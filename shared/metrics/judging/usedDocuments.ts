import type { Score, ScoreContext, ScoredRecord } from '../metric.ts';
import { NOTHING_RETRIEVED } from '../reasons.ts';
import { type AnswerForm, wholeNumber } from './answerForms.ts';
import { askJudge } from './askJudge.ts';
import { judgePrompt } from './judgePrompt.ts';
import { documentMaterial, inputOf, outputOf } from './material.ts';
import { countsOf, numbering, retrievedBy } from './relevantDocuments.ts';

/**
 * The share of the retrieved documents that the output draws on. The metadata has the numbers of these (`attributed_documents`), and of all text that
 * was retrieved the fraction that was used (`utilization`), with that of each document in their order.
 */
export async function scoreUse(record: ScoredRecord, context: ScoreContext): Promise<Score> {
  const output = outputOf(record);
  if (!output) return { notApplicable: 'the record has no output' };
  const { documents, left } = retrievedBy(record);
  if (documents.length === 0) return { notApplicable: NOTHING_RETRIEVED };
  const input = inputOf(record);
  const score = await askJudge(
    {
      task: judgePrompt('usedDocuments').task.replace('{{numbering}}', numbering(left)),
      material: [...(input ? [input] : []), output, ...documentMaterial(documents)],
      answer: percentOfEach(documents.length),
    },
    context,
  );
  if (!('value' in score)) return score;
  const used = (score.value as string[]).map((percent) => Number(percent) / 100);
  const attributed = used.flatMap((share, index) => (share > 0 ? [index + 1] : []));
  const characters = documents.reduce((sum, { length }) => sum + length, 0);
  const usedCharacters = documents.reduce((sum, { length }, index) => sum + length * (used[index] as number), 0);
  const figures = { attributed_documents: attributed, utilization: usedCharacters / characters, utilization_of_each: used };
  const metadata = { ...score.metadata, ...figures, ...countsOf({ documents, left }) };
  return { ...score, value: attributed.length / documents.length, metadata };
}

const percent = wholeNumber({ min: 0, max: 100 });

const percentOfEach = (count: number): AnswerForm => ({
  field: 'used',
  wanted: `an array of ${count} whole numbers from 0 to 100, one for each document`,
  schema: { type: 'array', items: percent.schema },
  read: (verdict) => {
    if (!Array.isArray(verdict) || verdict.length !== count) return undefined;
    const read = verdict.map((one) => percent.read(one));
    return read.every((one) => one !== undefined) ? read.map(String) : undefined;
  },
});
