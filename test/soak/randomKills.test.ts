import { expect, test } from 'vitest';
import { describeWithServer } from '../support/describeWithServer.ts';
import { postgresProgram } from '../support/postgresServer.ts';
import { randomKills } from '../support/randomKills.ts';
import { redisProgram } from '../support/redisServer.ts';

const ROWS = 800;
const CONCURRENCY = 20;

describeWithServer('two apis and two workers over servers', postgresProgram, (postgres) =>
  describeWithServer('with Redis', redisProgram, (redis) => {
    test('each process and server is killed once amid a run: nothing is lost, nothing twice, no call beyond the concurrency', {
      timeout: 600_000,
    }, async () => {
      const outcome = await randomKills({
        programs: { postgres, redis },
        seed: 1,
        kills: 8,
        rows: ROWS,
        concurrency: CONCURRENCY,
        rowMs: 300,
      });
      console.log(
        `killed ${outcome.killed.join(', ')}: ${outcome.seconds.toFixed(0)} s, ${outcome.calls} calls for ${ROWS} rows, at most ${outcome.most} at once`,
      );
      expect(outcome.end).toMatchObject({ state: 'completed', rows_done: ROWS, rows_failed: 0, scores_done: ROWS, error: null });
      expect(outcome).toMatchObject({ lost: 0, wrong: 0 });
      expect(outcome.most).toBeLessThanOrEqual(CONCURRENCY);
    });
  }),
);
