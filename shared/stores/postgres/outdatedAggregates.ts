import { z } from 'zod';
import type { OutdatedAggregates } from '../../experiments/outdatedAggregates.ts';
import { newId } from '../../identifiers/ids.ts';
import type { RunRef } from '../../projects/runs.ts';
import type { Database } from './database.ts';

/** Experiments of which no run goes on. */
export const AT_REST = "state NOT IN ('requested', 'running', 'paused')";
/** A claim to a computation expires after this time, so that another process takes over from one that died. */
const CLAIMED_FOR = "interval '60 seconds'";
/** A note holds for the writes of its process so long: a stream of small ones makes one in this time. */
const NOTE_GOOD_MS = 15_000;
/**
 * No write is under way for which a note of so long ago holds. A store that does not answer is given up after a minute; a write may wait for the one before it
 * as long, and go by a note of `NOTE_GOOD_MS` ago.
 */
const LONGEST_WRITE = "interval '150 seconds'";
const MAX_KNOWN_RUNS = 10_000;

/** Remembers the runs about which a process need not ask before each write: those that are never experiments, and those that it noted a moment ago. */
export class NotedRuns {
  readonly #others = new Set<string>();
  readonly #notedAt = new Map<string, number>();

  /** Those that may be experiments and are not noted of late. */
  lacking(runs: readonly RunRef[]): RunRef[] {
    const good = performance.now() - NOTE_GOOD_MS;
    return runs.filter(
      ({ runId, kind = 'experiment' }) =>
        kind === 'experiment' && !this.#others.has(runId) && (this.#notedAt.get(runId) ?? Number.NEGATIVE_INFINITY) < good,
    );
  }

  /** @param at `performance.now()` before the experiments among these runs were noted */
  remember(runs: readonly RunRef[], noted: readonly RunRef[], at: number): void {
    if (this.#others.size > MAX_KNOWN_RUNS) this.#others.clear();
    if (this.#notedAt.size > MAX_KNOWN_RUNS)
      for (const [runId, notedAt] of this.#notedAt) if (notedAt < at - NOTE_GOOD_MS) this.#notedAt.delete(runId);
    for (const { runId } of noted) this.#notedAt.set(runId, at);
    for (const { runId } of runs) if (!this.#notedAt.has(runId)) this.#others.add(runId);
  }

  experiments(runs: readonly RunRef[]): RunRef[] {
    return runs.filter(({ runId }) => this.#notedAt.has(runId));
  }
}

/** Notes the aggregates of those of the selected runs (`project_id`, `run_id`) that are experiments as outdated. In one order, so that no two wait for each other. */
export const noteOutdatedSql = (selected: string): string =>
  `INSERT INTO outdated_aggregates (run_id, project_id)
   SELECT run_id, project_id FROM experiments WHERE run_id IN (${selected}) ORDER BY run_id
   ON CONFLICT (run_id) DO UPDATE SET noted_at = clock_timestamp()`;

const ClaimRow = z.object({ claimed: z.boolean(), at_rest: z.boolean() });
const RefRow = z.object({ projectId: z.string(), runId: z.string() });
const rest = (parameter: string) => `clock_timestamp() + ${parameter} * interval '1 millisecond'`;

export function postgresOutdatedAggregates(database: Database): OutdatedAggregates {
  return {
    async note({ runId }) {
      await database.query(noteOutdatedSql('SELECT $1::uuid'), [runId]);
    },

    async claim({ runId }) {
      const claim = newId();
      const row = await database.maybeOne(
        `WITH claimed AS (
           INSERT INTO outdated_aggregates AS o (run_id, project_id, noted_at, claim, claimed_at, free_at)
           SELECT run_id, project_id, '-infinity', $2, clock_timestamp(), clock_timestamp() + ${CLAIMED_FOR} FROM experiments WHERE run_id = $1 AND ${AT_REST}
           ON CONFLICT (run_id) DO UPDATE SET claim = EXCLUDED.claim, claimed_at = EXCLUDED.claimed_at, free_at = EXCLUDED.free_at
             WHERE o.free_at <= clock_timestamp()
           RETURNING run_id
         )
         SELECT EXISTS (SELECT FROM claimed) AS claimed, ${AT_REST} AS at_rest FROM experiments WHERE run_id = $1`,
        [runId, claim],
      );
      if (!row) return 'gone';
      const { claimed, at_rest } = ClaimRow.parse(row);
      if (claimed) return { claim };
      return at_rest ? 'later' : 'running';
    },

    async store({ runId }, claim, { aggregates, workflowNumber }, restMs) {
      const stored = await database.query(
        `WITH target AS (SELECT run_id FROM experiments WHERE run_id = $1 AND workflow_number = $4 AND ${AT_REST} FOR UPDATE),
         done AS (
           DELETE FROM outdated_aggregates WHERE run_id IN (SELECT run_id FROM target) AND claim = $2 AND noted_at < claimed_at - ${LONGEST_WRITE}
           RETURNING run_id
         ),
         resting AS (
           UPDATE outdated_aggregates SET claim = NULL, free_at = ${rest('$5')}
            WHERE run_id IN (SELECT run_id FROM target) AND claim = $2 AND noted_at >= claimed_at - ${LONGEST_WRITE}
           RETURNING run_id
         )
         UPDATE experiments SET aggregates = $3::jsonb WHERE run_id IN (SELECT run_id FROM done UNION ALL SELECT run_id FROM resting)
         RETURNING run_id`,
        [runId, claim, JSON.stringify(aggregates), workflowNumber, restMs],
      );
      return stored.length > 0;
    },

    async release({ runId }, claim, restMs) {
      await database.query(
        `UPDATE outdated_aggregates SET claim = NULL, free_at = ${rest('$3')} WHERE run_id = $1 AND claim = $2`,
        [runId, claim, restMs],
      );
    },

    async left(fresh) {
      await database.query(
        'DELETE FROM outdated_aggregates o WHERE NOT EXISTS (SELECT FROM experiments e WHERE e.run_id = o.run_id)',
      );
      const rows = await database.query(
        `SELECT o.project_id AS "projectId", o.run_id AS "runId" FROM outdated_aggregates o JOIN experiments e ON e.run_id = o.run_id
          WHERE ($1 OR o.noted_at < clock_timestamp() - ${LONGEST_WRITE}) AND e.${AT_REST} ORDER BY o.noted_at`,
        [fresh],
      );
      return z.array(RefRow).parse(rows);
    },

    async freeAll() {
      await database.query('UPDATE outdated_aggregates SET claim = NULL, free_at = clock_timestamp()');
    },
  };
}
