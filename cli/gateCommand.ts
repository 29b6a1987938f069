import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Action, example, ofExperiment } from './commandOptions.ts';
import type { Terminal } from './terminal/terminal.ts';

/** `assay gate`. */
export function gateCommand(program: Command, terminal: Terminal, action: Action): void {
  ofExperiment(program.command('gate'))
    .description('End with status 10 where quality has dropped, and with 11 where the rows do not tell')
    .option(
      '--baseline <which>',
      'what it is held against: of the earlier runs of its series the one that passed its gate, is approved or is newest (passed, approved, newest), tag:key=value, or the name, id or link of an experiment',
    )
    .addOption(
      new Option(
        '--baseline-tag <key=value>',
        'the experiment with this tag that ended last, say branch=main; with --baseline passed or approved, the last of those',
      ).argParser(tagOf),
    )
    .option('--max-drop <metric=number>', 'largest change for the worse; several times for several metrics', limits)
    .option('--min <metric=number>', 'what a metric must reach', limits)
    .option('--max <metric=number>', 'what a metric must not exceed', limits)
    .option('--max-failed <share>', 'largest share of failed rows, from 0 to 1', numberOf)
    .addOption(
      new Option('--failed-rows <count>', 'what failed rows count as, where it is not what the experiment says').choices([
        'omit',
        'worst',
      ]),
    )
    .option('--level <number>', 'at which the intervals hold together; 0.95 without it', numberOf)
    .addOption(
      new Option('--format <format>', 'else as the name of the file ends; text on the output').choices([
        ...['text', 'markdown', 'junit', 'json'],
      ]),
    )
    .option('-o, --output <file>', 'write the report to a .md, .xml, .json or .txt file; the output has the text')
    .addHelpText(
      'after',
      example(
        'assay gate "nightly run" --project shop --baseline passed --max-drop accuracy=0.02 --max-failed 0.05',
        'two points of accuracy less than the last run that passed are too many',
      ),
    )
    .action(action(async (experiment, options) => (await import('./commands/gate.ts')).gate(terminal, experiment, options)));
}

function numberOf(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new InvalidArgumentError('It must be a number.');
  return value;
}

/** Names of metrics may have a `=`, numbers have none. */
function limits(text: string, before: Record<string, number> = {}): Record<string, number> {
  const at = text.lastIndexOf('=');
  if (at < 1) throw new InvalidArgumentError('Write it as metric=number.');
  return { ...before, [text.slice(0, at)]: numberOf(text.slice(at + 1)) };
}

function tagOf(text: string): { key: string; value: string } {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('Write it as key=value.');
  return { key: text.slice(0, at), value: text.slice(at + 1) };
}
