import { z } from 'zod';
import { Timestamp, Uuid } from './common.ts';

/** Scores of one scorer and dataset that are listed: the newest. */
export const MOST_HEALTH_SCORES = 1_000;
const MOST_SECONDARY = 50;

const secondary = z
  .record(z.string().max(255), z.number().nullable())
  .refine((map) => Object.keys(map).length <= MOST_SECONDARY, `at most ${MOST_SECONDARY} figures beside the score`)
  .nullable();

const score = {
  dataset_id: Uuid.describe('The dataset whose rows people rated.'),
  health_score_type: z.string().trim().min(1).max(64).describe('`macro_f1`, `micro_f1`, `mse`, `mae` or a name of your own.'),
  score: z.number(),
};

export const HealthScoresQuery = z.object({ dataset_id: Uuid });

export const WriteHealthScoreRequest = z
  .object({ ...score, secondary: secondary.optional() })
  .meta({ id: 'WriteHealthScoreRequest' });
export type WriteHealthScoreRequest = z.output<typeof WriteHealthScoreRequest>;

export const ScorerVersionHealthScoreEntry = z
  .object({
    id: Uuid,
    scorer_version_id: Uuid,
    scorer_version_number: z.int(),
    ...score,
    secondary,
    computed_at: Timestamp,
  })
  .meta({ id: 'ScorerVersionHealthScoreEntry' });
export const ScorerHealthScoresResponse = z
  .object({ scores: z.array(ScorerVersionHealthScoreEntry) })
  .meta({ id: 'ScorerHealthScoresResponse' });
