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
