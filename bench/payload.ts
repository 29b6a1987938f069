import { randomUUID } from 'node:crypto';

const syllables = ['ka', 'lo', 'mi', 'ter', 'ba', 'sen', 'dor', 'vi', 'nu', 'pra', 'ex', 'ol'];
const models = ['gpt-4o', 'gpt-4o-mini', 'gpt-4.1', 'o3-mini', 'claude-3-5-sonnet', 'gemini-2.0-flash'];

/** Numbers in [0, 1) that are the same for the same seed. */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export const RECORDS_PER_TRACE = 9;
export const SPANS_PER_TRACE = 8;

/**
 * Traces as clients send them: an agent with two workflows, three model calls, a retriever and a tool below it. Texts are words of a long-tailed
 * vocabulary; a span is 2 to 3 KB of JSON. Ids are random, all else follows from the seed.
 */
export function traceMaker(seed: number): (at: Date) => Record<string, unknown> {
  const random = seeded(seed);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const vocabulary = Array.from({ length: 3000 }, () =>
    Array.from({ length: 1 + Math.floor(random() * 4) }, () => pick(syllables)).join(''),
  );
  const text = (size: number): string => {
    let out = '';
    while (out.length < size) out += `${vocabulary[Math.floor(vocabulary.length * random() ** 3)]} `;
    return out.slice(0, size);
  };

  return (at) => {
    let step = 0;
    const question = text(300);
    const span = (type: string, name: string, fields: Record<string, unknown>) => ({
      type,
      id: randomUUID(),
      name,
      created_at: new Date(at.getTime() + 10 * ++step).toISOString(),
      user_metadata: { tenant: `tenant-${Math.floor(random() * 50)}`, release: 'v1.4' },
      tags: ['prod', pick(['eu', 'us'])],
      status_code: 200,
      step_number: step,
      ...fields,
    });
    const llm = (name: string) => {
      const [input, output] = [200 + Math.floor(random() * 1200), 20 + Math.floor(random() * 500)];
      return span('llm', name, {
        input: [
          { role: 'system', content: text(900) },
          { role: 'user', content: `${question} ${text(500)}` },
        ],
        output: { role: 'assistant', content: text(700) },
        metrics: {
          duration_ns: Math.floor(random() * 4e9),
          num_input_tokens: input,
          num_output_tokens: output,
          num_total_tokens: input + output,
        },
        model: pick(models),
        temperature: 0.2,
        finish_reason: 'stop',
      });
    };
    const documents = Array.from({ length: 4 }, () => ({
      content: text(500),
      metadata: { score: random(), source: `doc-${step}` },
    }));
    return {
      type: 'trace',
      id: randomUUID(),
      name: 'support',
      created_at: at.toISOString(),
      input: question,
      output: text(700),
      tags: ['prod'],
      user_metadata: { tenant: 'tenant-7' },
      metrics: { duration_ns: Math.floor(random() * 6e9) },
      spans: [
        span('agent', 'support_agent', {
          agent_type: 'react',
          input: text(900),
          output: text(900),
          metrics: { duration_ns: 5e9 },
          spans: [
            span('workflow', 'retrieve_context', {
              input: text(900),
              output: text(900),
              spans: [llm('rewrite_query'), span('retriever', 'search_docs', { input: question, output: documents })],
            }),
            span('workflow', 'compose_answer', {
              input: text(900),
              output: text(900),
              spans: [
                llm('draft'),
                span('tool', 'lookup_order', { input: text(800), output: text(1200), tool_call_id: 'call_1' }),
                llm('answer'),
              ],
            }),
          ],
        }),
      ],
    };
  };
}

interface LoggedNode {
  type: string;
  id: string;
  name: string;
  created_at: string;
  input: unknown;
  output: unknown;
  metrics?: Record<string, number>;
  model?: string;
  tags: string[];
  user_metadata: Record<string, string>;
  spans?: LoggedNode[];
}

/**
 * The same trace as instrumentations of OpenTelemetry send it, its agent the root: model calls in the conventions for generative AI, the others in
 * those of OpenInference. Eight spans.
 */
export function otlpSpans(trace: Record<string, unknown>): object[] {
  const root = trace as unknown as LoggedNode;
  const traceId = bytesOf(root.id);
  const spanOf = (node: LoggedNode, parent: LoggedNode | undefined): object[] => {
    const start = BigInt(Date.parse(node.created_at)) * 1_000_000n;
    const span = {
      traceId,
      spanId: bytesOf(node.id).subarray(0, 8),
      ...(parent ? { parentSpanId: bytesOf(parent.id).subarray(0, 8) } : {}),
      name: node.name,
      startTimeUnixNano: String(start),
      endTimeUnixNano: String(start + BigInt(node.metrics?.duration_ns ?? 1_000_000)),
      status: { code: 1 },
      attributes: Object.entries(attributesOf(node)).map(([key, value]) => ({ key, value: anyValue(value) })),
    };
    return [span, ...(node.spans ?? []).flatMap((below) => spanOf(below, node))];
  };
  return (root.spans ?? []).flatMap((top) => spanOf(top, undefined));
}

const bytesOf = (uuid: string): Buffer => Buffer.from(uuid.replaceAll('-', ''), 'hex');

function anyValue(value: unknown): object {
  if (typeof value === 'number') return Number.isInteger(value) ? { intValue: value } : { doubleValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } };
  return { stringValue: String(value) };
}

const openInferenceKinds: Record<string, string> = { agent: 'AGENT', workflow: 'CHAIN', retriever: 'RETRIEVER', tool: 'TOOL' };

function attributesOf(node: LoggedNode): Record<string, unknown> {
  const common = { ...node.user_metadata, 'tag.tags': node.tags };
  if (node.type === 'llm') {
    const { num_input_tokens, num_output_tokens } = node.metrics ?? {};
    return {
      ...common,
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': node.model,
      'gen_ai.request.temperature': 0.2,
      'gen_ai.usage.input_tokens': num_input_tokens,
      'gen_ai.usage.output_tokens': num_output_tokens,
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.input.messages': messagesText(node.input),
      'gen_ai.output.messages': messagesText([node.output]),
    };
  }
  const documents = Array.isArray(node.output) ? (node.output as { content: string; metadata: object }[]) : [];
  return {
    ...common,
    'openinference.span.kind': openInferenceKinds[node.type],
    'input.value': node.input,
    ...(documents.length > 0 ? {} : { 'output.value': node.output }),
    ...Object.fromEntries(
      documents.flatMap(({ content, metadata }, index) => [
        [`retrieval.documents.${index}.document.content`, content],
        [`retrieval.documents.${index}.document.metadata`, JSON.stringify(metadata)],
      ]),
    ),
  };
}

const messagesText = (messages: unknown): string =>
  JSON.stringify(
    (messages as { role: string; content: string }[]).map(({ role, content }) => ({ role, parts: [{ type: 'text', content }] })),
  );
