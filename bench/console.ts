import { parseArgs } from 'node:util';
import { timeConsoleApi } from './consoleApi.ts';
import { timeExperimentPages } from './consoleExperiments.ts';
import { timeConsolePages } from './consolePages.ts';
import { countConsoleWork } from './consoleWork.ts';

/**
 * Times the console, `--rounds R` times each (default 20): what it asks of the API over one run of `--records N` records (default 1,000,000), then its pages
 * in Chromium over `--spans S` spans (default 100,000) while more arrive, and those of experiments, datasets, prompts, metrics, settings and the playground.
 * `--only api`, `--only pages` or `--only experiments` takes one of the three; `--data FOLDER` keeps the records of the first for the next call. `--only work`
 * counts instead the CPU of the page's thread, and keeps its profiles in `--profiles FOLDER`.
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
      profiles: { type: 'string' },
    },
  });
  if (values.only === 'work') return countConsoleWork(values.profiles);
  const isAsked = (part: string) => values.only === undefined || values.only === part;
  if (isAsked('api')) await timeConsoleApi(Number(values.records), Number(values.rounds), values.data);
  if (isAsked('pages')) await timeConsolePages(Number(values.spans), Number(values.rounds));
  if (isAsked('experiments')) await timeExperimentPages(Number(values.rounds));
}
