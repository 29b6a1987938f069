import { parseArgs } from 'node:util';
import { postgresProgram } from '../test/support/postgresServer.ts';
import { randomKills } from '../test/support/randomKills.ts';
import { redisProgram } from '../test/support/redisServer.ts';

/**
 * Random SIGKILLs of two apis, two workers, ClickHouse's stand-in, Redis, Postgres and Temporal amid a run of a prompt template. One line a seed;
 * ends with 1 where a row was lost or is there twice, a row, span or score is not what it should be, or the endpoint saw more calls at once than
 * the concurrency.
 *
 * Options: `--seeds` (10), the first of them `--first` (1), `--kills` of each (20), `--rows` (2000), `--row-ms` (300), `--concurrency` (20),
 * `--checkout` of another release.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      seeds: { type: 'string', default: '10' },
      first: { type: 'string', default: '1' },
      kills: { type: 'string', default: '20' },
      rows: { type: 'string', default: '2000' },
      'row-ms': { type: 'string', default: '300' },
      concurrency: { type: 'string', default: '20' },
      checkout: { type: 'string' },
    },
  });
  const { path: postgres } = postgresProgram;
  const { path: redis } = redisProgram;
  if (!postgres || !redis) throw new Error('postgres and redis-server must be installed');
  const [rows, concurrency, first] = [Number(values.rows), Number(values.concurrency), Number(values.first)];
  let bad = 0;
  for (let seed = first; seed < first + Number(values.seeds); seed++) {
    const { end, lost, wrong, most, calls, seconds, killed } = await randomKills({
      programs: { postgres, redis },
      seed,
      kills: Number(values.kills),
      rows,
      concurrency,
      rowMs: Number(values['row-ms']),
      checkout: values.checkout,
    });
    const isGood =
      end.state === 'completed' &&
      end.rows_failed === 0 &&
      end.scores_done === rows &&
      lost === 0 &&
      wrong === 0 &&
      most <= concurrency;
    if (!isGood) bad++;
    process.stdout.write(
      `seed ${seed}: ${isGood ? 'good' : 'BAD'}, ${end.state}, ${killed.length} kills, ${lost} lost, ${wrong} wrong, ${end.rows_failed} failed, ` +
        `at most ${most} of ${concurrency} calls at once, ${calls} calls for ${rows} rows, ${seconds.toFixed(0)} s\n`,
    );
  }
  if (bad > 0) process.exitCode = 1;
}
