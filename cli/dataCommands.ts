import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Action, example, ofProject, ofService, wholeNumber } from './commandOptions.ts';
import { type DelimiterName, delimiterNames, rowFormats } from './rows/rowFiles.ts';
import type { Terminal } from './terminal/terminal.ts';

/** Commands that import and export data. */
export function dataCommands(program: Command, terminal: Terminal, action: Action): void {
  const datasets = program.command('datasets').description('Bring datasets into the service and out of it');

  ofProject(datasets.command('import'))
    .description('Make a dataset of a .csv, .jsonl, .json or .parquet file, or a new version of one')
    .argument('<file>', 'its first part is the name of the dataset; -: the input')
    .option('--name <name>', 'name of the dataset')
    .addOption(new Option('--format <format>', 'what the file holds, where its name does not say').choices(rowFormats))
    .addOption(
      new Option(
        '--delimiter <name>',
        `${ofDelimiters}, or the character: what separates the fields of a CSV; else it is detected`,
      ).argParser(delimiterNamed),
    )
    .option('--append', 'add the rows to a dataset that exists')
    .addOption(new Option('--replace', 'make the rows the new version of a dataset that exists').conflicts('append'))
    .addHelpText(
      'after',
      example('assay datasets import sums.csv --project shop', 'the dataset sums, which people of the project see') +
        example('assay datasets import today.jsonl --name sums --append', 'older versions of a dataset stay readable'),
    )
    .action(
      action(async (file, options) => (await import('./commands/importDataset.ts')).importDataset(terminal, file, options)),
    );

  ofService(datasets.command('export'))
    .description('Write the rows of a dataset to a file, or to the output')
    .argument('<dataset>', 'its name or id')
    .option('-o, --output <file>', 'has its name when all of it is there, and not before')
    .addOption(new Option('--format <format>', 'else as the name of the file ends; csv on the output').choices(rowFormats))
    .option('--spreadsheet-safe', 'put a quote before texts of a CSV that a spreadsheet would run as a formula')
    .option('--byte-order-mark', 'begin a CSV as Excel needs it to show letters beyond ASCII')
    .addHelpText('after', example('assay datasets export sums --output sums.parquet'))
    .action(
      action(async (dataset, options) => (await import('./commands/exportDataset.ts')).exportDataset(terminal, dataset, options)),
    );

  ofProject(datasets.command('list'))
    .description('List the datasets that you can read, newest first; with --project those that it uses')
    .addHelpText('after', example('assay datasets list --json | jq -r ".[].name"'))
    .action(action(async (options) => (await import('./commands/listDatasets.ts')).listDatasets(terminal, options)));

  ofService(datasets.command('versions'))
    .description('List the versions of a dataset, newest first, and what each changed')
    .argument('<dataset>', 'its name or id')
    .addHelpText('after', example('assay datasets versions sums'))
    .action(
      action(async (dataset, options) =>
        (await import('./commands/datasetVersions.ts')).datasetVersions(terminal, dataset, options),
      ),
    );

  ofService(datasets.command('rows'))
    .description('Show the first rows of a dataset')
    .argument('<dataset>', 'its name or id')
    .option('--dataset-version <number>', 'of this version; else of the newest', wholeNumber)
    .option('--limit <number>', 'most rows', wholeNumber, 20)
    .addHelpText('after', example('assay datasets rows sums --dataset-version 2'))
    .action(
      action(async (dataset, options) => (await import('./commands/datasetRows.ts')).datasetRows(terminal, dataset, options)),
    );

  ofService(datasets.command('delete'))
    .description('Delete a dataset with all its versions')
    .argument('<dataset>', 'its whole name, or its id')
    .option('-y, --yes', 'do not ask')
    .addHelpText('after', example('assay datasets delete sums', 'asks at a terminal; elsewhere it needs --yes'))
    .action(
      action(async (dataset, options) => (await import('./commands/deleteDataset.ts')).deleteDataset(terminal, dataset, options)),
    );

  const logs = program.command('logs').description('Find and follow records: traces, their spans, and sessions');

  ofRecords(logs.command('search'), ['trace', 'span', 'session'])
    .description('Show the records that fit, newest first; with --json a record a line')
    .option('--limit <number>', 'most records', wholeNumber, 20)
    .option('--sort <column>', 'another order; with - before it descending', '-created_at')
    .addHelpText('after', conditions)
    .action(action(async (options) => (await import('./commands/searchLogs.ts')).searchLogs(terminal, options)));

  ofRecords(logs.command('tail').alias('follow'), ['trace', 'span'])
    .description('Show the newest records, then those that are logged or changed, as they arrive, until Ctrl-C')
    .option('-n, --lines <number>', 'how many of the newest', countFromZero, 10)
    .addHelpText('after', conditions)
    .action(action(async (options) => (await import('./commands/tailLogs.ts')).tailLogs(terminal, options)));

  ofProject(logs.command('show'))
    .description('Show a trace as a tree: kinds, names, latency, tokens, cost, errors and scores')
    .argument('<id>', 'of a trace; of a span, which is marked in its trace')
    .addHelpText('after', example('assay logs show 6c01631c-fbb2-4d58-8436-1f54726ef82a --project shop'))
    .action(action(async (id, options) => (await import('./commands/showLog.ts')).showLog(terminal, id, options)));

  ofRecords(program.command('export'), ['trace', 'span', 'session'])
    .description('Write all records that fit to a file, or to the output')
    .option('-o, --output <file>', 'has its name when all of it is there, and not before')
    .addOption(
      new Option('--format <format>', 'else as the name of the file ends; jsonl on the output').choices([
        ...['jsonl', 'jsonl_flat', 'json', 'csv', 'parquet'],
      ]),
    )
    .option('--no-redact', 'inputs and outputs as they were logged, also where there is a redacted one')
    .option('--byte-order-mark', 'begin a CSV as Excel needs it to show letters beyond ASCII')
    .addHelpText('after', example('assay export --log-stream main --since 7d --output week.parquet') + conditions)
    .action(action(async (options) => (await import('./commands/exportRecords.ts')).exportRecords(terminal, options)));
}

const conditions = `
Conditions are a column, one of = != < <= > >= contains in "not in", and a value:

  $ assay logs search --filter 'status_code = 500' --filter 'user_metadata/tier in free, trial' --since 2h
  $ assay logs search --kind span --filter 'type = llm' --filter 'metrics/num_output_tokens > 1000' --sort -metrics/cost`;

const ofRecords = (command: Command, kinds: readonly string[]): Command =>
  ofProject(command)
    .option('--log-stream <name>', 'the log stream (SERVICE_LOG_STREAM); else the only one of the project')
    .addOption(new Option('--log-stream-id <id>', 'the same by its id (SERVICE_LOG_STREAM_ID)').conflicts('logStream'))
    .addOption(
      new Option('--experiment <experiment>', 'records of an experiment: its name, id or link').conflicts([
        'logStream',
        'logStreamId',
      ]),
    )
    .addOption(new Option('--kind <kind>', 'which records').choices(kinds).default('trace'))
    .option('--filter <condition...>', 'those that fit; given several times, all must hold')
    .option('--text <text>', 'those with this text in their input, output, name or error')
    .option('-i, --ignore-case', 'texts fit in upper and lower case')
    .option('--since <time>', 'made since: 15m, 2h, 3d or 1w ago, or a date or time')
    .option('--until <time>', 'made before')
    .option('--column <id...>', 'these columns, in this order');

function countFromZero(text: string): number {
  return text === '0' ? 0 : wholeNumber(text);
}

const ofDelimiters = Object.keys(delimiterNames).join(', ');

/** A delimiter by its name or itself; a tab may be written `\t`, too. */
function delimiterNamed(text: string): DelimiterName {
  const character = text === '\\t' ? '\t' : text;
  const found = Object.entries(delimiterNames).find((one) => one.includes(character));
  if (!found) throw new InvalidArgumentError(`It is one of ${ofDelimiters}, or the character itself.`);
  return found[0] as DelimiterName;
}
