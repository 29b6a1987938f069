import type { Command } from 'commander';
import { closestHint } from './lookup/closest.ts';

/** Gives a command with subcommands, and those among these that have some, a `help` of all that is below it: `help datasets import`. */
export function addHelp(command: Command): void {
  for (const each of command.commands) if (each.commands.length > 0) addHelp(each);
  command
    .helpCommand(false)
    .command('help')
    .description('Show what a command takes')
    .argument('[command...]', 'its words, as in datasets import')
    .action((words: string[]) => commandAt(command, words).outputHelp());
}

function commandAt(command: Command, words: readonly string[]): Command {
  const [word, ...others] = words;
  if (word === undefined) return command;
  const found = command.commands.find((each) => each.name() === word);
  if (found) return commandAt(found, others);
  const names = command.commands.map((each) => each.name());
  return command.error(
    `error: there is no command ${JSON.stringify(word)}${names.length > 0 ? ' here' : ` below ${command.name()}`}${closestHint(word, names)}`,
  );
}
