import { type Command, Option } from 'commander';
import { type Action, example, ofProject, ofService } from './commandOptions.ts';
import { rowFormats } from './rowFiles.ts';
import type { Terminal } from './terminal.ts';

/** What brings data into the service and out of it again. */
export function dataCommands(program: Command, terminal: Terminal, action: Action): void {
  const datasets = program.command('datasets').description('Bring datasets into the service and out of it');

  ofProject(datasets.command('import'))
    .description('Make a dataset of a .csv, .jsonl, .json or .parquet file, or a new version of one')
    .argument('<file>', 'its first part is the name of the dataset; -: the input')
    .option('--name <name>', 'name of the dataset')
    .addOption(new Option('--format <format>', 'what the file holds, where its name does not say').choices(rowFormats))
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
    .addHelpText('after', example('assay datasets export sums --output sums.parquet'))
    .action(
      action(async (dataset, options) => (await import('./commands/exportDataset.ts')).exportDataset(terminal, dataset, options)),
    );

  ofProject(datasets.command('list'))
    .description('List the datasets that you can read, newest first; with --project those that it uses')
    .addHelpText('after', example('assay datasets list --json | jq -r ".[].name"'))
    .action(action(async (options) => (await import('./commands/listDatasets.ts')).listDatasets(terminal, options)));
}
