import type { z } from 'zod';
import type { CreateLlmScorerVersionRequest } from '../shared/wire/scorers.ts';
import { ValueError } from './errors.ts';
import type { Metric } from './listMetrics.ts';
import { type CallOptions, clientOf } from './project.ts';

export interface CreateJudgeOptions extends CallOptions {
  /** The metric's name, by which experiments ask for it. */
  name: string;
  /** What the model is to judge, in words. */
  instructions: string;
  description?: string | undefined;
  tags?: string[] | undefined;
  /** Which of its numbers are better; true counts as 1. Without it comparisons and gates give no verdict, and a warning is logged. */
  direction?: 'higher' | 'lower' | undefined;
  /** Between which its numbers lie, of judges that count or rate. */
  range?: { min: number; max: number } | undefined;
  /** The labels that a judge of the kind categorical or multilabel may give; without them it gives any. */
  categories?: string[] | undefined;
  /** Model, number of judges, kind of answer and so on, in the interface's spelling. */
  settings?: Omit<z.input<typeof CreateLlmScorerVersionRequest>, 'instructions'> | undefined;
}

/**
 * Creates a metric that a model judges. One that is refused leaves nothing behind.
 * @throws ValueError without name or instructions; HttpStatusError 409 when the name is taken, 422 for settings that cannot be right.
 */
export async function createJudge(options: CreateJudgeOptions): Promise<Metric> {
  const { name, instructions, description, tags, direction, range, categories, settings } = options;
  if (!name || !instructions) throw new ValueError('a judge needs a name and instructions');
  const client = clientOf(options);
  const metric = await client.send<Metric>('/scorers', {
    body: { name, scorer_type: 'llm', description, tags, direction, range, categories },
  });
  const path = `/scorers/${metric.id}`;
  try {
    await client.send(`${path}/version/llm`, { body: { ...settings, instructions } });
  } catch (err) {
    await clientOf({ client: options.client })
      .send(path, { method: 'DELETE' })
      .catch(() => undefined); // what was wrong is the first error
    throw err;
  }
  const [made] = (
    await client.send<{ scorers: Metric[] }>('/scorers/list', {
      body: { filters: [{ name: 'id', operator: 'eq', value: metric.id }] },
      repeatable: true,
    })
  ).scorers;
  for (const warning of made?.warnings ?? []) client.logger.warn(`the judge ${JSON.stringify(name)}: ${warning}`);
  return made ?? metric;
}
