import { Argument, Command, Help, Option } from 'commander';
import { VERSION } from '../shared/config/version.ts';
import { type Action, example, ofExperiment, ofProject, ofService, wholeNumber } from './commandOptions.ts';
import { readEnvFile } from './credentials/readEnvFile.ts';
import { dataCommands } from './dataCommands.ts';
import { gateCommand } from './gateCommand.ts';
import { addHelp } from './helpCommand.ts';
import { type ExitCode, exitCodes } from './terminal/exitCodes.ts';
import { errorAsJson, type Terminal, widthOf } from './terminal/terminal.ts';

/** Longer lines are hard to read. */
const HELP_WIDTH = 100;
const TWO_COLUMNS_WIDTH = 80;

/**
 * Every subcommand with its arguments and options. What a subcommand does is imported when it runs: help and completion read this file alone.
 * @param end gets the status that a command ends with
 * @param asJson whether a wrong command line is answered as JSON
 */
export function assayCommand(terminal: Terminal, end: (exitCode: ExitCode) => void, asJson: boolean): Command {
  const program = new Command('assay')
    .description('Observability and evaluation of generative-AI applications')
    .version(VERSION, '-V, --version')
    .configureOutput({
      writeOut: (text) => void terminal.stdout.write(text),
      writeErr: (text) => void terminal.stderr.write(text),
      outputError: (text, put) => put(asJson ? errorAsJson(text.replace(/^error: /, '').trim(), exitCodes.usage) : text),
      getOutHelpWidth: () => Math.min(HELP_WIDTH, widthOf(terminal.stdout, terminal.environment)),
      getErrHelpWidth: () => Math.min(HELP_WIDTH, widthOf(terminal.stderr, terminal.environment)),
    })
    .configureHelp({
      minWidthToWrap: 20,
      // Two columns need room; without it what a thing does stands below its name.
      formatItem(term, termWidth, description, helper) {
        const width = helper.helpWidth ?? HELP_WIDTH;
        if (width >= TWO_COLUMNS_WIDTH || !description)
          return Help.prototype.formatItem.call(helper, term, termWidth, description, helper);
        return `  ${term.replace(' [options]', '')}\n${helper.boxWrap(description, width - 6).replaceAll(/^/gm, '      ')}`;
      },
    })
    .exitOverride()
    .showSuggestionAfterError()
    .hook('preAction', (_program, command) => {
      refuseEmptyWords(command);
      const { envFile } = command.opts<{ envFile?: string }>();
      if (envFile !== undefined) readEnvFile(terminal, envFile);
    })
    .addHelpText('after', '\nassay help <command> has examples. assay doctor says what is wrong with this installation.');

  const action: Action =
    (run) =>
    async (...given) => {
      const exitCode = await run(...given);
      if (exitCode !== undefined) end(exitCode);
    };

  program
    .command('start')
    .description('Start the whole service on this machine, its data in .assay of the current folder')
    .option('--port <number>', 'port of the API (PORT); 0: any free one')
    .option('--data-dir <folder>', 'folder of the data (DATA_DIR)')
    .addHelpText(
      'after',
      example('assay start', 'Ctrl-C ends it; the next start goes on with every run. All settings are environment variables.'),
    )
    .action(action(async (options) => (await import('./commands/start.ts')).start(terminal, options)));

  ofService(program.command('login'))
    .description('Keep a login for a service: an API key, or your e-mail address and password')
    .option('--email <address>', 'log in with this e-mail address; the password is asked for, or read from a pipe')
    .addHelpText(
      'after',
      example('assay login --api-url https://assay.example.com', 'asks for an API key') +
        example('assay login < key.txt', 'takes the key from a file: a pipe or a file is read up to its first line break'),
    )
    .action(action(async (options) => (await import('./commands/login.ts')).login(terminal, options)));

  ofProject(program.command('run'))
    .description('Run the experiment that a TypeScript or JavaScript file exports')
    .argument('<file>', 'ends with: export default defineExperiment({ … })')
    .option('--name <name>', 'name of the experiment; else that in the file, else the name of the file')
    .option('--dataset <name or file>', 'other rows than the file says: a dataset, or a .csv, .jsonl, .json or .parquet file')
    .option(
      '--rows <which...>',
      'some rows: limit=10, sample=50, seed=7, ids=…, ordinals=0-9,12, filter="input contains a", same-as="last week"',
    )
    .option('--trials <number>', 'times that each row is run', wholeNumber)
    .option('--concurrency <number>', 'rows in flight at a time', wholeNumber)
    .option('--gate-report <file>', 'where the file has a gate: its report, as .md, .xml (JUnit), .json or .txt')
    .option('--create-project', 'make the project if it does not exist')
    .option('--fresh', 'a new experiment also where one of this name has not ended')
    .option('--no-wait', 'leave a run of the service to itself; a function stays until its rows are recorded')
    .addHelpText(
      'after',
      example('assay run shouting.ts --project shop', 'Ctrl-C loses nothing: the same command goes on where it was.') +
        example('assay run shouting.ts --project shop --rows sample=50 seed=7 --trials 3', 'the same 50 rows each time'),
    )
    .action(action(async (file, options) => (await import('./commands/run.ts')).run(terminal, file, options)));

  ofExperiment(program.command('watch'))
    .description('Follow the run of an experiment to its end, then show its results')
    .addHelpText('after', example('assay watch "nightly run" --project shop'))
    .action(action(async (experiment, options) => (await import('./commands/watch.ts')).watch(terminal, experiment, options)));

  ofExperiment(program.command('retry'))
    .description('Run rows of an experiment again, or compute scores again: by default the rows that failed')
    .option('--rows <row...>', 'these rows alone: ids, or positions in the dataset from 0')
    .option('--metric <name>', 'in place of rows: the scores of this metric that are missing, failed or stale; outputs are kept')
    .addOption(new Option('--state <state...>', 'of --metric: these scores alone').choices(['missing', 'failed', 'stale']))
    .option('--run-rows', 'of --metric: run the rows again, too')
    .addHelpText(
      'after',
      example('assay retry "nightly run" --project shop') +
        example('assay retry "nightly run" --project shop --rows 0 17 42') +
        example('assay retry "nightly run" --project shop --metric correctness --state failed'),
    )
    .action(action(async (experiment, options) => (await import('./commands/retry.ts')).retry(terminal, experiment, options)));

  for (const [step, description] of steering)
    ofExperiment(program.command(step))
      .description(description)
      .addHelpText('after', example(`assay ${step} "nightly run" --project shop`))
      .action(
        action(async (experiment, options) => (await import('./commands/steer.ts')).steer(terminal, step, experiment, options)),
      );

  ofExperiment(program.command('concurrency'))
    .description('Change how many rows of a run are in flight at a time')
    .argument('<rows>', 'how many, from 1 on', wholeNumber)
    .addHelpText('after', example('assay concurrency "nightly run" 8 --project shop'))
    .action(
      action(async (experiment, rows, options) =>
        (await import('./commands/concurrency.ts')).concurrency(terminal, experiment, rows, options),
      ),
    );

  ofProject(program.command('compare'))
    .description('Say whether an experiment is better than a baseline, by each metric, and how sure that is')
    .argument('<baseline>', 'its name (of several the newest), its id, or its link')
    .argument('<experiment>', 'the one that is compared with it')
    .option('--metric <name...>', 'these metrics alone')
    .addHelpText('after', example('assay compare "last week" "nightly run" --project shop'))
    .action(
      action(async (baseline, other, options) =>
        (await import('./commands/compare.ts')).compare(terminal, baseline, other, options),
      ),
    );

  gateCommand(program, terminal, action);

  ofExperiment(program.command('approve'))
    .description('Approve an experiment: gates with --baseline approved hold later runs of its series against it')
    .option('--revoke', 'take the approval back')
    .action(
      action(async (experiment, options) => (await import('./commands/approve.ts')).approve(terminal, experiment, options)),
    );

  listCommands(program, terminal, action);
  dataCommands(program, terminal, action);

  ofService(program.command('doctor'))
    .description('Say what is wrong with this installation, and what to do')
    .action(action(async (options) => (await import('./commands/doctor.ts')).doctor(terminal, options)));

  program
    .command('completion')
    .description('Print what completes commands and options in your shell')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .addHelpText(
      'after',
      example('source <(assay completion bash)', 'in ~/.bashrc; in ~/.zshrc with zsh for bash') +
        example('assay completion fish | source', 'in ~/.config/fish/config.fish'),
    )
    .action(action(async (shell) => (await import('./commands/completion.ts')).completion(terminal, shell, program)));

  addHelp(program);
  return program;
}

/** A word without a letter is a variable of a script that is not set: it must not be taken for an option that was left out. */
function refuseEmptyWords(command: Command): void {
  const option = command.options.find((one) => command.getOptionValue(one.attributeName()) === '');
  const argument = command.registeredArguments.find((_one, at) => command.processedArgs[at] === '');
  const empty = option?.long ?? argument?.name();
  if (empty !== undefined) command.error(`error: ${empty} is empty`);
}

/** The things that commands work with. */
function listCommands(program: Command, terminal: Terminal, action: Action): void {
  ofService(program.command('projects'))
    .description('List the projects that you can read')
    .addHelpText('after', example('assay projects --json | jq -r ".[].name"'))
    .action(action(async (options) => (await import('./commands/listProjects.ts')).listProjects(terminal, options)));

  ofProject(program.command('experiments'))
    .description('List the experiments of a project, newest first')
    .option('--limit <number>', 'most experiments', wholeNumber, 50)
    .addHelpText('after', example('assay experiments --project shop'))
    .action(action(async (options) => (await import('./commands/listExperiments.ts')).listExperiments(terminal, options)));
}

const steering = [
  ['pause', 'Start no new row of a run; the rows in flight end'],
  ['resume', 'Go on with a run that is paused'],
  ['cancel', 'End a run; what is recorded stays'],
] as const;
