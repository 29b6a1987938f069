import { createInterface } from 'node:readline/promises';
import { usageError } from './commandError.ts';
import type { Terminal } from './terminal.ts';

/**
 * Asks the person at the terminal whether to go on; any answer but yes is no.
 * @throws CommandError where there is no terminal
 */
export async function confirm({ stdin, stderr, signal }: Terminal, question: string): Promise<boolean> {
  if (stdin.isTTY !== true) throw usageError(`${question} There is no terminal to ask at: add --yes`);
  const lines = createInterface({ input: stdin, output: stderr, terminal: true });
  try {
    lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));
    return /^y(?:es)?$/i.test((await lines.question(`${question} [y/N] `, { signal })).trim());
  } finally {
    lines.close();
  }
}
