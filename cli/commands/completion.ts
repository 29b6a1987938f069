import type { Command } from 'commander';
import { say, type Terminal } from '../terminal/terminal.ts';

/** A script that completes commands, options and their choices; where none of them fits, names of files. */
export const completion = (terminal: Terminal, shell: 'bash' | 'zsh' | 'fish', program: Command): Promise<void> =>
  say(
    terminal,
    shell === 'fish'
      ? fish(program)
      : shell === 'bash'
        ? bash(program)
        : `autoload -U +X compinit bashcompinit && compinit -u && bashcompinit\n${bash(program)}`,
  );

interface Known {
  /** `assay datasets import` */
  path: string;
  /** The same command under its other names, `assay logs follow`. */
  aliases: readonly string[];
  commands: readonly string[];
  options: readonly string[];
  /** By option, what its value may be; empty: anything. */
  values: ReadonlyMap<string, readonly string[]>;
}

function knownOf(command: Command, before = ''): Known[] {
  const path = `${before} ${command.name()}`.trim();
  const options = command.createHelp().visibleOptions(command);
  const flags = (option: (typeof options)[number]) => [option.short, option.long].flatMap((flag) => flag ?? []);
  const [argument] = command.registeredArguments;
  const words = command.commands.flatMap((each) => [each.name(), ...each.aliases()]);
  return [
    {
      path,
      aliases: command.aliases().map((name) => `${before} ${name}`),
      commands: [...words, ...(argument?.argChoices ?? [])],
      options: options.flatMap(flags),
      values: new Map(
        options.flatMap((option) =>
          option.required || option.optional ? flags(option).map((flag) => [flag, option.argChoices ?? []] as const) : [],
        ),
      ),
    },
    ...command.commands.filter((each) => each.name() !== 'help').flatMap((each) => knownOf(each, path)),
  ];
}

function bash(program: Command): string {
  const known = knownOf(program);
  const paths = known.slice(1).map(({ path }) => `'${path}'`);
  const aliases = known.flatMap(({ path, aliases }) => aliases.map((alias) => `      '${alias}') at='${path}' ;;`));
  const values = known.flatMap(({ path, values: byOption }) =>
    [...byOption].map(([option, choices]) => `    '${path} ${option}') choices='${choices.join(' ')}' ;;`),
  );
  const words = known.map(
    ({ path, commands, options }) => `      '${path}') choices='${commands.join(' ')}' options='${options.join(' ')}' ;;`,
  );
  return `# Completion of assay. In bash: source <(assay completion bash); in zsh: source <(assay completion zsh)
_assay() {
  local word="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" at=assay each choices='' options=''
  for each in "\${COMP_WORDS[@]:1:$((COMP_CWORD - 1))}"; do
    case "$at $each" in
      *' help') ;;
${aliases.join('\n')}
      ${paths.join('|')}) at="$at $each" ;;
    esac
  done
  case "$at $previous" in
${values.join('\n')}
    *)
      case "$at" in
${words.join('\n')}
      esac
      [[ "$word" == -* ]] && choices="$options" ;;
  esac
  COMPREPLY=($(compgen -W "$choices" -- "$word"))
}
complete -o default -F _assay assay`;
}

/** The same for fish, which shows beside each word what it is for. */
function fish(program: Command): string {
  const lines = (command: Command, before = ''): string[] => {
    const path = `${before} ${command.name()}`.trim();
    const at = `complete -c assay -n ${fishText(`__assay_at ${path}`)}`;
    const values = (choices: readonly string[] | undefined) => (choices ? ` -f -a ${fishText(choices.join(' '))}` : '');
    return [
      ...command.commands.flatMap((each) =>
        [each.name(), ...each.aliases()].map((name) => `${at} -f -a ${name} -d ${fishText(each.description())}`),
      ),
      ...command.registeredArguments.flatMap(({ argChoices }) => (argChoices ? [`${at}${values(argChoices)}`] : [])),
      ...command
        .createHelp()
        .visibleOptions(command)
        .map(({ short, long, required, optional, argChoices, description }) =>
          [
            at + (short ? ` -s ${short.slice(1)}` : '') + (long ? ` -l ${long.slice(2)}` : ''),
            `${required || optional ? ` -r${values(argChoices)}` : ''} -d ${fishText(description)}`,
          ].join(''),
        ),
      ...command.commands.filter((each) => each.name() !== 'help').flatMap((each) => lines(each, path)),
    ];
  };
  const known = knownOf(program);
  const paths = known.slice(1).map(({ path }) => fishText(path));
  const aliases = known.flatMap(({ path, aliases }) =>
    aliases.map((alias) => `    test "$at $each" = ${fishText(alias)}; and set at ${fishText(path)}`),
  );
  return `# Completion of assay in fish: assay completion fish | source
function __assay_at
  set -l at assay
  for each in (commandline -opc)[2..]
    contains -- "$at $each" ${paths.join(' ')}; and set at "$at $each"
${aliases.join('\n')}
  end
  test "$at" = "$argv"
end
${lines(program).join('\n')}`;
}

const fishText = (text: string): string => `'${text.replaceAll(/[\\']/g, '\\$&')}'`;
