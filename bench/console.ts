import { parseArgs } from 'node:util';
import { timeConsoleApi } from './consoleApi.ts';
import { timeConsolePages } from './consolePages.ts';

/**
 * Times the console, `--rounds R` times each (default 20): what it asks of the API over one run of `--records N` records (default 1,000,000), then its pages
 * in Chromium over `--spans S` spans (default 100,000) while more arrive. `--only api` or `--only pages` takes one of the two; `--data FOLDER` keeps the
 * records of the first for the next call.
 */
export async function run(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      records: { type: 'string', default: '1000000' },
      spans: { type: 'string', default: '100000' },
      rounds: { type: 'string', default: '20' },
      only: { type: 'string' },
      data: { type: 'string' },
    },
  });
  if (values.only !== 'pages') await timeConsoleApi(Number(values.records), Number(values.rounds), values.data);
  if (values.only !== 'api') await timeConsolePages(Number(values.spans), Number(values.rounds));
}
