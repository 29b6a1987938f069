import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { usageError } from './commandError.ts';
import type { Terminal } from './terminal.ts';

/**
 * Reads a line without showing it, so that no one reads it over your shoulder. It is no argument, which other users of the machine could see. From a
 * pipe or a file the first line is taken.
 */
export async function askSecret({ stdin, stderr, signal }: Terminal, question: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const isTerminal = stdin.isTTY === true;
  if (isTerminal) stderr.write(question);
  const lines = createInterface({ input: stdin, output: nowhere, terminal: isTerminal });
  try {
    const line = await new Promise<string | undefined>((resolve, reject) => {
      lines.once('line', resolve);
      lines.once('close', () => resolve(undefined));
      lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    const secret = line?.trim();
    if (!secret) throw usageError('nothing was given: type it, or send it through a pipe');
    return secret;
  } finally {
    lines.close();
    if (isTerminal) stderr.write('\n');
  }
}
