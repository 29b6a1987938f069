import type { z } from 'zod';
import type { CreateLlmScorerVersionRequest } from '../shared/wire/scorerVersions.ts';
import type { CallOptions } from './callOptions.ts';
import { ValueError } from './errors.ts';
import type { Metric } from './metrics.ts';
import { createMetric } from './metrics.ts';

export interface CreateJudgeOptions extends CallOptions {
  /** The metric's name, by which experiments ask for it. */
  name: string;
  /** Instructions to the model: how it judges. */
  instructions: string;
  description?: string | undefined;
  tags?: string[] | undefined;
  /** The direction in which its numbers are better; true counts as 1. Without it comparisons and gates give no verdict, and a warning is logged. */
  direction?: 'higher' | 'lower' | undefined;
  /** Between which its numbers lie, of judges that count or rate. */
  range?: { min: number; max: number } | undefined;
  /** The labels that a judge of the kind categorical or multilabel may give; without them it gives any. */
  categories?: string[] | undefined;
  /** Metrics whose values the judge is shown, by name, label or id. They are computed before. */
  requiredMetrics?: string[] | undefined;
  /** Model, number of judges, kind of answer and so on, in the interface's spelling. */
  settings?: Omit<z.input<typeof CreateLlmScorerVersionRequest>, 'instructions'> | undefined;
}

/**
 * Creates a metric that a model judges. One that is refused leaves nothing behind.
 * @throws ValueError without name or instructions; HttpStatusError 409 when the name is taken, 422 for settings that cannot be right.
 */
export async function createJudge(options: CreateJudgeOptions): Promise<Metric> {
  const {
    name,
    instructions,
    description,
    tags,
    direction,
    range,
    categories,
    settings,
    requiredMetrics: required_scorers,
  } = options;
  if (!name || !instructions) throw new ValueError('a judge needs a name and instructions');
  const scorer = { name, scorer_type: 'llm', description, tags, direction, range, categories, required_scorers };
  return createMetric(options, scorer, (client, id) =>
    client.send(`/scorers/${id}/version/llm`, { body: { ...settings, instructions } }),
  );
}
