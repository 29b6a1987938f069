import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ExitCode } from './terminal/exitCodes.ts';

/** Turns the work of a subcommand into the function that Commander calls. */
export type Action = <Given extends unknown[]>(
  run: (...given: Given) => Promise<ExitCode> | Promise<void>,
) => (...given: Given) => Promise<void>;

/** Options that several subcommands take, in the same words. */
export const ofService = (command: Command): Command =>
  command
    .option('--api-url <url>', 'the service (SERVICE_API_URL)')
    .option('--env-file <file>', 'sets variables of the environment, as .env does; those that are set stay')
    .option('--json', 'results on the output, and errors, as JSON');

export const ofProject = (command: Command): Command =>
  ofService(command)
    .option('-p, --project <name>', 'the project (SERVICE_PROJECT)')
    .addOption(new Option('--project-id <id>', 'the same by its id (SERVICE_PROJECT_ID)').conflicts('project'));

export const ofExperiment = (command: Command): Command =>
  ofProject(command).argument('<experiment>', 'its name (of several the newest), its id, or the link that a run prints');

export const example = (line: string, meaning = ''): string => `\n  $ ${line}${meaning && `\n    ${meaning}`}`;

export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new InvalidArgumentError('It must be a whole number from 1 on.');
  return value;
}
