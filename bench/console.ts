import { parseArgs } from 'node:util';
import { timeConsoleApi } from './consoleApi.ts';

/**
 * Times what the console asks of the API, over one run of `--records N` records (default 1,000,000), `--rounds R` times each (default 20).
 * `--data FOLDER` keeps the records for the next call.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      records: { type: 'string', default: '1000000' },
      rounds: { type: 'string', default: '20' },
      data: { type: 'string' },
    },
  });
  await timeConsoleApi(Number(values.records), Number(values.rounds), values.data);
}
