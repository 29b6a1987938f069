import { z } from 'zod';
import type { Database } from './database.ts';
import { fewIds, type Listing, slices } from './listScan.ts';

const Better = z.array(z.object({ group_id: z.string(), place: z.number(), count: z.number() }));

/**
 * The ranks of scores in their groups of experiments, of which the best has 1 and equal ones the same. What is better than the lowest of them is counted
 * part by part: a group may have all experiments of a project.
 */
export async function ranksIn(
  database: Database,
  scored: readonly { groupId: string; score: number }[],
): Promise<(groupId: string, score: number) => number> {
  const scores = [...new Set(scored.map(({ score }) => score))].sort((a, b) => b - a);
  const lowest = scores.at(-1);
  /** Counts for each group how many experiments are between each of the scores and the one above it, without the one itself. */
  const between = new Map<string, number[]>();
  if (lowest !== undefined) {
    const groupIds = [...new Set(scored.map(({ groupId }) => groupId))];
    // Bounds ascend, and one belongs to what is above it.
    const better = {
      each: 'e.group_id, width_bucket(-e.ranking_score, $3::float8[]) AS place',
      sql: `SELECT coalesce(jsonb_agg(better), '[]') FROM (SELECT group_id, place, count(*) AS count FROM listed GROUP BY 1, 2) better`,
    };
    for (const { within, value } of await rivals(database, groupIds)) {
      const listing: Listing = {
        ...{ table: 'experiments', alias: 'e', conditions: [] },
        within: `${within} AND e.ranking_score > $2`,
        walk: {
          columns: [
            ['ranking_score', 'float8'],
            ['run_id', 'uuid'],
          ],
          descending: true,
        },
        values: [value, lowest, scores.map((score) => -score)],
      };
      for await (const found of slices(database, listing, better))
        for (const { group_id, place, count } of Better.parse(found)) {
          const counts = between.get(group_id) ?? new Array<number>(scores.length).fill(0);
          counts[place] = (counts[place] ?? 0) + count;
          between.set(group_id, counts);
        }
    }
  }
  const places = new Map(scores.map((score, index) => [score, index]));
  return (groupId, score) => {
    const counts = between.get(groupId) ?? [];
    return counts.slice(0, (places.get(score) ?? 0) + 1).reduce((sum, count) => sum + count, 1);
  };
}

/** Conditions that find the experiments of groups by an index, and what each takes as `$1`: one for all groups where they have few. */
async function rivals(database: Database, groupIds: readonly string[]): Promise<{ within: string; value: unknown }[]> {
  const sql = 'SELECT run_id AS id FROM experiments WHERE group_id = ANY ($1::uuid[])';
  const few = groupIds.length > 1 ? await fewIds(database, sql, [groupIds]) : undefined;
  if (few) return [{ within: 'e.run_id = ANY ($1::uuid[])', value: few }];
  return groupIds.map((groupId) => ({ within: 'e.group_id = $1::uuid', value: groupId }));
}
