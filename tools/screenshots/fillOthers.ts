import type { ServiceClient } from '../../client/http.ts';
import { newId } from '../../shared/identifiers/ids.ts';

/** Ids of records that have what most have not. */
export interface OtherRecords {
  /** Pictures, a document, what is at another site, and tools with their answers. */
  mediaTraceId: string;
  mediaSpanId: string;
  /** It has every kind of question, some answered. */
  ratedTraceId: string;
  /** A session of many turns. */
  talkId: string;
}

const TURNS = 30;
const chart = `data:image/svg+xml;base64,${Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 320"><rect width="640" height="320" fill="#dbe7f3"/><path d="M0 240 120 200 240 220 360 120 480 150 640 60V320H0z" fill="#7ea3c8"/><text x="24" y="48" font-size="24">Visitors by month</text></svg>',
).toString('base64')}`;
const plan = `data:application/pdf;base64,${Buffer.from('a plan '.repeat(4_000)).toString('base64')}`;

/** Logs them to a run of the project, and puts one in an annotation queue. */
export async function fillOthers(client: ServiceClient, projectId: string, runId: string): Promise<OtherRecords> {
  const log = (trace: object, session_id?: string) =>
    client.send(`/projects/${projectId}/traces`, {
      body: { log_stream_id: runId, ...(session_id ? { session_id } : {}), traces: [trace] },
    });
  const [mediaTraceId, mediaSpanId, ratedTraceId] = [newId(), newId(), newId()];
  await log({
    id: mediaTraceId,
    name: 'read the chart',
    input: 'What is on these?',
    output: 'Visitors',
    spans: [media(mediaSpanId)],
  });
  await log({ id: ratedTraceId, name: 'suggest a trip', input: 'Where to go in May?', output: 'Lisbon is mild then.' });
  await rateIt(client, projectId, runId, ratedTraceId);
  const talk = { log_stream_id: runId, name: 'A long talk about trains', external_id: 'chat-77' };
  const { id: talkId } = await client.send<{ id: string }>(`/projects/${projectId}/sessions`, { body: talk });
  for (let turn = 0; turn < TURNS; turn++) await log(turnOf(turn), talkId);
  return { mediaTraceId, mediaSpanId, ratedTraceId, talkId };
}

const media = (id: string) => ({
  ...{ type: 'llm', id, name: 'look', model: 'gpt-4.1', metrics: { duration_ns: 2.4e9, num_input_tokens: 1_904 } },
  input: [
    { role: 'system', content: 'You read charts and documents.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is on these? Compare the chart with the plan.' },
        { type: 'image_url', image_url: { url: chart } },
        { type: 'image_url', image_url: { url: 'https://example.com/a/map/that/is/elsewhere.png' } },
        { type: 'file', file: { filename: 'plan for the summer.pdf', file_data: plan } },
      ],
    },
    {
      role: 'assistant',
      content: '',
      tool_calls: [
        {
          id: 'call_1',
          function: {
            name: 'visitors',
            arguments: '{"months": ["May", "June"], "city": {"name": "Lisbon", "id": 9007199254740993}}',
          },
        },
        { id: 'call_2', function: { name: 'weather', arguments: '{"city": "Lisbon"}' } },
      ],
    },
    { role: 'tool', content: '{"May": 120400, "June": 151000}', tool_call_id: 'call_1' },
    { role: 'tool', content: 'mild, 22 °C', tool_call_id: 'call_2' },
  ],
  output: { role: 'assistant', content: 'The chart shows **visitors by month**.\n\n1. May: 120,400\n2. June: 151,000' },
});

const turnOf = (turn: number) => ({
  ...{
    id: newId(),
    name: turn % 5 ? 'answer' : 'plan',
    created_at: new Date(Date.now() - (TURNS - turn) * 90_000).toISOString(),
  },
  input: [
    {
      role: 'user',
      content: turn % 3 ? `And how about platform ${turn}?` : 'Which train goes to Porto, and where do I change? '.repeat(4),
    },
  ],
  ...(turn % 11 === 7
    ? { status_code: 504, error_message: 'the timetable did not answer within 10 s' }
    : { output: { role: 'assistant', content: `The train of ${8 + (turn % 12)}:05 goes there directly.` } }),
  metrics: { duration_ns: 3e8 + turn * 2e7 },
});

const questions: [name: string, constraints: object, criteria?: string][] = [
  ['Good?', { annotation_type: 'like_dislike' }, 'Would you show this answer to a customer?'],
  ['Style', { annotation_type: 'star' }],
  ['Accuracy', { annotation_type: 'score', min: 0, max: 100 }],
  ['Problems', { annotation_type: 'tags', tags: ['too long', 'made up', 'off topic', 'rude'], allow_other: true }],
  ['Tone', { annotation_type: 'choice', choices: ['formal', 'friendly', 'neutral'], allow_other: true }],
  ['Remark', { annotation_type: 'text' }],
];

async function rateIt(client: ServiceClient, projectId: string, runId: string, recordId: string): Promise<void> {
  const { id } = await client.send<{ id: string }>('/annotation_queues', { body: { name: { value: 'Weekly review' } } });
  for (const [name, constraints, criteria] of questions) {
    const template = { name, include_explanation: false, constraints, ...(criteria ? { criteria } : {}) };
    await client.send(`/annotation_queues/${id}/templates`, { body: { template } });
  }
  await client.send(`/annotation_queues/${id}/records`, {
    body: { project_id: projectId, run_id: runId, record_selector: { type: 'record_ids', record_ids: [recordId] } },
  });
  const { templates } = await client.send<{ templates: { id: string; name: string }[] }>(`/annotation_queues/${id}`);
  await client.send(`/annotation_queues/${id}/records/${recordId}/rating`, {
    ...{ method: 'PUT', query: { annotation_template_id: templates.find(({ name }) => name === 'Style')?.id ?? '' } },
    body: { rating: { annotation_type: 'star', value: 4 } },
  });
}
