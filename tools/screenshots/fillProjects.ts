import type { ServiceClient } from '../../client/http.ts';
import {
  addPromptVersion,
  createDataset,
  createLogStream,
  createProject,
  createPrompt,
  datasetRows,
  editDataset,
} from '../../client/index.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { type FilledComparison, fillComparison } from './fillComparison.ts';
import { fillExperiments } from './fillExperiments.ts';
import { fillOthers, type OtherRecords } from './fillOthers.ts';
import { fillQueue } from './fillQueue.ts';
import { fillSettings } from './fillSettings.ts';

/** Ids of the things that the pictures show. */
export interface Filled extends OtherRecords {
  projectId: string;
  emptyProjectId: string;
  traceId: string;
  /** A model call of the trace. */
  spanId: string;
  sessionId: string;
  datasetId: string;
  comparison: FilledComparison;
  promptId: string;
  queueId: string;
  integrationId: string;
}

const TRACES = 400;
const questions = [
  'Which rivers flow through Lisbon, and when did the last flood reach the old town?',
  'Summarise the attached contract in three sentences for a colleague who has not read it.',
  'What is 6 times 7?',
  'Translate “the early bird catches the worm” into Portuguese, and explain the saying to a child of seven.',
];
const names = ['answer', 'summarise', 'calculate', 'translate'];

/** Projects as people have them: one in use, with sessions, failures, tools and long texts, one that is empty, and some with odd names. */
export async function fillProjects(client: ServiceClient): Promise<Filled> {
  const make = async (name: string) => (await createProject({ client, name })).id;
  await make('Ünïcode 🚀 with a name that is far longer than any column of a table would like it to be, and then some');
  await make('مشروع من اليمين إلى اليسار');
  const emptyProjectId = await make('new-idea');
  const projectId = await make('travel-assistant');
  await createLogStream({ client, projectId, name: 'staging' });
  const { id: runId } = await createLogStream({ client, projectId, name: 'production' });
  const session = { log_stream_id: runId, name: 'Planning a weekend', external_id: 'chat-2041' };
  const { id: sessionId } = await client.send<{ id: string }>(`/projects/${projectId}/sessions`, { body: session });
  const traces = Array.from({ length: TRACES }, (_, index) => traceOf(index));
  const first = traces[1] as ReturnType<typeof traceOf>;
  const [inSession, alone] = [traces.slice(0, 4), traces.slice(4)];
  await client.send(`/projects/${projectId}/traces`, {
    body: { log_stream_id: runId, session_id: sessionId, traces: inSession },
  });
  await client.send(`/projects/${projectId}/traces`, { body: { log_stream_id: runId, traces: alone } });
  await fillExperiments(client, projectId);
  const queueId = await fillQueue(
    client,
    projectId,
    runId,
    traces.slice(0, 12).map(({ id }) => id),
  );
  const comparison = await fillComparison(client);
  const datasetId = await fillDataset(client, projectId);
  const promptId = await fillPrompt(client, projectId);
  const others = await fillOthers(client, projectId, runId);
  const integrationId = await fillSettings(client, projectId);
  return {
    integrationId,
    queueId,
    projectId,
    datasetId,
    promptId,
    emptyProjectId,
    traceId: first.id,
    spanId: first.callId,
    sessionId,
    comparison,
    ...others,
  };
}

/** A prompt with two versions. */
async function fillPrompt(client: ServiceClient, projectId: string): Promise<string> {
  const system = { role: 'system', content: 'You are a helpful travel assistant. Answer in the language of the question.' };
  const template = [system, { role: 'user', content: 'Answer for {{audience}}: {{input}}' }];
  const { id } = await createPrompt({ client, projectId, name: 'travel answer', template });
  const shorter = [{ ...system, content: `${system.content} Use at most three sentences.` }, ...template.slice(1)];
  await addPromptVersion({
    client,
    id,
    template: shorter,
    settings: { modelAlias: 'gpt-4.1-mini', temperature: 0 },
    select: true,
  });
  return id;
}

/** A dataset whose second version edits, removes and adds a row. */
async function fillDataset(client: ServiceClient, projectId: string): Promise<string> {
  const content = Array.from({ length: 60 }, (_, index) => ({
    input: `${questions[index % questions.length]} (${index})`,
    output: index % 4 ? `The Tagus; in ${1900 + index}` : null,
    metadata: index % 5 ? { level: 'easy', chapter: index } : null,
  }));
  const { id } = await createDataset({ client, projectId, name: 'Questions about rivers', content });
  const rows = await datasetRows({ client, id }).all();
  const idOf = (index: number) => rows[index]?.row_id as string;
  await editDataset({
    ...{ client, id },
    edits: [
      { edit_type: 'update_row', row_id: idOf(1), values: { output: 'The Tagus and the Trancão; in 1901' } },
      { edit_type: 'delete_row', row_id: idOf(3) },
      { edit_type: 'append_row', values: { input: 'How long is the Tagus?', output: '1,007 km' } },
    ],
  });
  return id;
}

function traceOf(index: number) {
  const created_at = new Date(Date.now() - index ** 1.5 * 20_000).toISOString();
  const kind = index % questions.length;
  const hasFailed = index % 9 === 5;
  const callId = newId();
  const output = hasFailed ? '' : `${'Here is what I found. '.repeat(1 + (index % 5))}The answer is **42**.\n\n- first\n- second`;
  const tool = { id: 'call_1', function: { name: 'search', arguments: '{"query": "Lisbon floods", "limit": 9007199254740993}' } };
  const spans = [
    {
      ...{ type: 'llm', id: callId, name: 'chat', created_at, model: index % 3 ? 'gpt-4.1-mini' : 'claude-sonnet-4' },
      input: [
        { role: 'system', content: 'You are a helpful travel assistant. Answer in the language of the question.' },
        { role: 'user', content: questions[kind] },
      ],
      output: { role: 'assistant', content: output, tool_calls: [tool] },
      metrics: { duration_ns: 4e8 + index * 1e6, num_input_tokens: 812 + index, num_output_tokens: 96 },
    },
    {
      ...{ type: 'tool', name: 'search', created_at, input: '{"query": "Lisbon floods"}' },
      ...(hasFailed
        ? { output: '', status_code: 503, error_message: 'the index did not answer within 5 s' }
        : { output: '[{"title": "Tagus", "score": 0.91}]' }),
      metrics: { duration_ns: 9e7 },
    },
    ...Array.from({ length: index === 1 ? 60 : 0 }, (_, step) => ({
      ...{ type: step % 2 ? 'retriever' : 'workflow', name: `step ${step}`, created_at, input: 'q', output: 'documents' },
      metrics: { duration_ns: 1e7 + step * 1e6 },
    })),
  ];
  return {
    ...{ id: newId(), callId, name: names[kind], created_at, input: questions[kind], output, spans },
    ...{ status_code: hasFailed ? 500 : 200, tags: index % 2 ? ['prod'] : ['prod', 'beta'] },
    user_metadata: { customer: `customer-${index % 7}`, region: index % 3 ? 'eu' : 'us' },
    metrics: { duration_ns: 5e8 + index * 3e6 },
  };
}
