import type { TestService } from '../../test/support/testService.ts';
import { type Check, checks, type Sdk } from './packages.ts';
import { story, usageOfCalls } from './weatherModel.ts';

/** Checks with a wrong value, checks that the package sends nothing for, and the records themselves. */
export interface Outcome {
  wrong: Map<Check, string>;
  unsent: ReadonlySet<Check>;
  records: { sessions: unknown[]; traces: unknown[]; spans: unknown[] };
}

// biome-ignore lint/suspicious/noExplicitAny: records as they come over the wire
type Json = any;
type Found = Record<'sessions' | 'traces' | 'spans', Json[]>;

/** USD for a million tokens of the model: input, cached input, output. */
const prices = { input: 0.15, cached: 0.075, output: 0.6 };
const sum = (of: (call: (typeof usageOfCalls)[number]) => number): number =>
  usageOfCalls.reduce((all, call) => all + of(call), 0);
const wanted = {
  tokens: [sum(({ input }) => input), sum(({ output }) => output)],
  cached: sum(({ cached }) => cached),
};
/** @param share of the cached tokens that the package says */
const costOf = (share: number): number =>
  sum(({ input, cached, output }) => {
    const cheap = share * cached;
    return (input - cheap) * prices.input + cheap * prices.cached + output * prices.output;
  }) / 1e6;

/** The log stream that a package's spans are sent to. */
export const streamOf = ({ registry, name }: Sdk): string => `${registry} ${name}`;

/** Compares the records of a package's log stream with what its program asked and the model answered. */
export async function compare(sdk: Sdk, service: TestService, projectName: string): Promise<Outcome> {
  const records = await recordsOf(service, projectName, streamOf(sdk));
  const { sessions, traces, spans } = records as Found;
  const wrong = new Map<Check, string>();
  const unsent = new Set(sdk.sendsNo);
  for (const check of checks) {
    if (unsent.has(check)) continue;
    if (spans.length === 0 && check !== 'trace') {
      unsent.add(check);
      continue;
    }
    const found = differences[check]({ sessions, traces, spans });
    if (found !== undefined) wrong.set(check, found);
  }
  return { wrong, unsent, records };
}

async function recordsOf(service: TestService, projectName: string, stream: string): Promise<Outcome['records']> {
  const get = async (path: string): Promise<Json> => (await service.request('GET', path)).body;
  const project = (await get('/projects')).find((one: Json) => one.name === projectName);
  const log_stream_id = (await get(`/projects/${project.id}/log_streams`)).find((one: Json) => one.name === stream)?.id;
  if (log_stream_id === undefined) return { sessions: [], traces: [], spans: [] };
  const of = async (what: string): Promise<unknown[]> => {
    const { body } = await service.request('POST', `/projects/${project.id}/${what}/search`, { log_stream_id, limit: 100 });
    const ids = (body as Json).records.map(({ id }: Json) => id);
    return Promise.all(ids.map((id: string) => get(`/projects/${project.id}/${what}/${id}`)));
  };
  return { sessions: await of('sessions'), traces: await of('traces'), spans: await of('spans') };
}

const ofKind = (spans: Json[], kind: string): Json[] =>
  spans.filter(({ type }) => type === kind).toSorted((one, other) => (one.created_at < other.created_at ? -1 : 1));
/** Those in the sums that have been answered: a client's own span below a framework's is the same call. */
const modelCalls = (spans: Json[]): Json[] =>
  ofKind(spans, 'llm').filter(({ counted_usage, output }) => counted_usage === 'all' && Boolean(output));
const shown = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 300);
const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value ?? ''));
/** Returns whether the value may be an input or an output: numbers and booleans are none. */
const isText = (value: string | undefined): boolean => value === undefined || !/^(?:-?[\d.e-]+|true|false)$/.test(value);
const callIn = ({ output }: Json): Json => output?.tool_calls?.find((one: Json) => one.function.name === 'get_weather');
const isCity = (text: string): boolean => {
  try {
    return text === story.city || JSON.parse(text).city === story.city;
  } catch {
    return false;
  }
};

/** Functions that describe the difference from the expected records; undefined where there is none. */
const differences: Record<Check, (of: Found) => string | undefined> = {
  trace: ({ traces }) =>
    traces.length === 1 && traces[0].is_complete
      ? undefined
      : `${traces.length} traces, ${shown(traces.map((one) => [one.name, one.is_complete]))}`,
  kinds({ spans }) {
    const calls = modelCalls(spans).length;
    return calls === 2
      ? undefined
      : `${calls} model calls of ${shown(spans.map((one) => `${one.type} ${one.name} ${one.counted_usage}`))}`;
  },
  input: ({ traces: [trace] }) => (textOf(trace.input).includes(story.question) ? undefined : shown(trace.input)),
  output: ({ traces: [trace] }) => (textOf(trace.output).includes(story.answer) ? undefined : shown(trace.output)),
  messages({ spans }) {
    for (const [index, { name, input, output }] of modelCalls(spans).entries()) {
      if (!Array.isArray(input)) return `${name}: ${shown(input)}`;
      const asked =
        index > 0 || input.find(({ role, content }: Json) => role === 'user' && textOf(content).includes(story.question));
      if (!asked) return `${name}: ${shown(input)}`;
      if (!/^(?:system|developer|user|assistant|tool)$/.test(output?.role)) return `${name}: ${shown(output)}`;
    }
    const last = modelCalls(spans).at(-1);
    const said = textOf(last?.output?.content) + textOf(last?.output?.tool_calls);
    if (!said.includes(story.answer)) return `the answer is ${shown(last?.output)}`;
    const result = last.input.some(({ role, content }: Json) => role !== 'user' && textOf(content).includes(story.weather));
    return result ? undefined : `no result of the tool in ${shown(last.input)}`;
  },
  'tool call'({ spans }) {
    const [first] = modelCalls(spans);
    return first && isCity(callIn(first)?.function.arguments) ? undefined : shown(first?.output);
  },
  tool({ spans }) {
    const tools = ofKind(spans, 'tool');
    const said = tools.find(({ input, output }) => isCity(input) && textOf(output).includes(story.weather));
    return said ? undefined : shown(tools.map(({ name, input, output }) => ({ name, input, output })));
  },
  model({ spans }) {
    const models = ofKind(spans, 'llm').map(({ model }) => model);
    return models.every((model) => /gpt-4o-mini/.test(model)) && models.length > 0 ? undefined : shown(models);
  },
  tokens({ traces: [{ metrics }] }) {
    const found = [metrics.num_input_tokens, metrics.num_output_tokens];
    return shown(found) === shown(wanted.tokens) ? undefined : `${shown(found)}, not ${shown(wanted.tokens)}`;
  },
  cached: ({ traces: [{ metrics }] }) =>
    metrics.num_cached_input_tokens === wanted.cached ? undefined : `${metrics.num_cached_input_tokens}, not ${wanted.cached}`,
  cost({ traces: [{ metrics }] }) {
    const cost = costOf(metrics.num_cached_input_tokens === undefined ? 0 : 1);
    return Math.abs(metrics.cost - cost) < 1e-9 ? undefined : `${metrics.cost}, not ${cost}`;
  },
  session({ sessions, traces: [trace] }) {
    const session = sessions.find(({ id }) => id === trace.session_id);
    return session?.external_id === 'session-1' ? undefined : shown(sessions.map(({ external_id }) => external_id));
  },
  user({ spans }) {
    const names = spans.filter(({ user_metadata }) => user_metadata['user.id'] === 'user-1');
    return names.length > 0 ? undefined : shown(spans[0]?.user_metadata);
  },
  unread({ spans }) {
    const names = new Set(
      spans.flatMap(
        ({ user_metadata: said }) => said['otel.unread']?.split(', ').filter((name: string) => isText(said[name])) ?? [],
      ),
    );
    return names.size === 0 ? undefined : [...names].join(', ');
  },
};
