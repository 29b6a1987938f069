import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { fileError } from '../terminal/commandError.ts';
import type { Terminal } from '../terminal/terminal.ts';

/**
 * Sets the variables of a file of lines as `NAME=value`. Those that are set already stay.
 * @throws CommandError for a file that cannot be read
 */
export function readEnvFile({ folder, environment }: Terminal, path: string): void {
  const file = resolve(folder, path);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (err) {
    throw fileError(err as NodeJS.ErrnoException, file);
  }
  for (const [name, value] of Object.entries(parseEnv(text))) environment[name] ??= value;
}
