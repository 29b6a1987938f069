import { describe, expect, test } from 'vitest';
import { builtinMetrics } from '../../shared/metrics/index.ts';
import { judgePrompts, readJudgePrompt } from '../../shared/metrics/judging/judgePrompt.ts';
import type { JudgeRequest, ScoredRecord } from '../../shared/metrics/metric.ts';
import { scoreRecord } from '../../shared/metrics/scoreRecord.ts';
import { scoredRecord as record } from '../support/scoredRecord.ts';

const texts = {
  input: 'Look: data:image/png;base64,AAAA',
  output: 'Here: data:image/png;base64,BBBB',
  datasetOutput: 'a picture',
};
const spans = [
  record({ kind: 'tool', name: 'search', input: '{}', output: 'found' }),
  record({ kind: 'retriever', output: '[{"content": "one"}, {"content": "two"}]' }),
];
const trace = record({ ...texts, spans });
const session = record({ ...texts, kind: 'session', spans, traces: [trace, { ...trace, input: 'And now?' }] });

/** The requests of all judges of the catalogue for these records. */
async function requestsFor(records: readonly ScoredRecord[]): Promise<JudgeRequest[]> {
  const requests: JudgeRequest[] = [];
  const complete = async (request: JudgeRequest) => {
    requests.push(request);
    return { text: '{}', inputTokens: 1, outputTokens: 1, model: 'judge', costUsd: 0 };
  };
  const { signal } = new AbortController();
  for (const metric of builtinMetrics.filter(({ needs }) => needs === 'judge'))
    for (const one of records) await scoreRecord(metric, one, { complete, signal });
  return requests;
}

const materialOf = ({ prompt, images }: JudgeRequest): string[] => [
  ...[...prompt.matchAll(/^<material-\w+ name="(.+)">$/gm)].map(([, name]) => String(name).replace(/ \d+$/, 's')),
  ...(images ? ['images'] : []),
];

describe('the prompts of the judges', () => {
  test('are all asked by a metric of the catalogue, with the inputs and the choices that their files name', async () => {
    const requests = await requestsFor([trace, session]);
    for (const [name, { task, inputs, choices, labels }] of judgePrompts) {
      const [beginning = ''] = task.split('{{');
      const asked = requests.filter(({ prompt }) => prompt.startsWith(beginning));
      expect(asked, name).not.toEqual([]);
      // Vision forms of other judges see images beside what those are shown.
      const shown = new Set(asked.flatMap(materialOf));
      if (!inputs.includes('images')) shown.delete('images');
      expect([...shown].sort(), name).toEqual([...inputs].sort());
      if (inputs.includes('documents')) continue;
      const wanted = labels.length > 0 ? labels.map((label) => JSON.stringify(label)).join(', ') : `(${choices})`;
      for (const { prompt } of asked) expect(prompt, name).toContain(wanted);
    }
    expect(requests.filter(({ prompt }) => prompt.includes('{{'))).toEqual([]);
  });

  test('have a line for each sentence, which are sent as one paragraph', () => {
    const head = '---\npurpose: A judge.\ninputs: [input]\nchoices: [one, other]\n---\n';
    const read = { task: 'Decide. Or not.\n\nThen end.', inputs: ['input'], labels: ['one', 'other'] };
    expect(readJudgePrompt('a.md', `${head}\nDecide.\nOr not.\n\nThen end.\n`)).toMatchObject(read);
    expect(readJudgePrompt('a.md', `${head}\nDecide.\nOr not.\n\nThen end.`.replaceAll('\n', '\r\n'))).toMatchObject(read);
  });

  test.each([
    ['Decide.', 'a.md does not begin with'],
    ['---\npurpose: A judge.\ninputs: [input]\n---\n\nDecide.', 'choices'],
    ['---\npurpose: A judge.\nchoices: true or false\n---\n\nDecide.', 'inputs'],
    ['---\ninputs: [input]\nchoices: true or false\n---\n\nDecide.', 'purpose'],
    ['---\npurpose: A judge.\ninputs: []\nchoices: true or false\n---\n\nDecide.', 'inputs'],
    ['---\npurpose: A judge.\ninputs: [input]\nchoices: true or false\nmodel: m\n---\n\nDecide.', 'model'],
    ['---\npurpose: A judge.\ninputs: [input]\nchoices: true or false\n---\n\n', 'has no prompt below its head'],
  ])('a file without one of its parts is refused: %j', (text, problem) => {
    expect(() => readJudgePrompt('a.md', text)).toThrow(problem);
  });
});
