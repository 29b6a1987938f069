import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { stripVTControlCharacters, styleText } from 'node:util';
import { jsonWithBigInts } from '../../shared/wire/longNumbers.ts';

/** The environment, streams and folder of a command, which the entry file takes from this process. */
export interface Terminal {
  /** Also what the client library reads: a command adds the credentials that it found. */
  environment: Record<string, string | undefined>;
  folder: string;
  stdin: Readable & { isTTY?: boolean };
  /** Results, and nothing else: what a pipe gets. */
  stdout: NodeJS.WriteStream;
  /** Progress, remarks and errors. */
  stderr: NodeJS.WriteStream;
  /** Aborts with the first Ctrl-C or SIGTERM. */
  signal: AbortSignal;
}

/** Narrower, a table becomes a list. */
const LEAST_WIDTH = 20;

/** Characters of a line. A pipe has no width: whole lines go through it, for `grep` and friends. */
export function widthOf(stream: NodeJS.WriteStream, environment: Terminal['environment']): number {
  const asked = Number(environment.COLUMNS);
  const columns = stream.isTTY ? stream.columns : asked > 0 ? asked : Number.POSITIVE_INFINITY;
  return Math.max(LEAST_WIDTH, columns || 80);
}

export type Style = Parameters<typeof styleText>[0];

/** Coloured where the stream is a terminal and `NO_COLOR` is not set. */
export const styled = (stream: NodeJS.WriteStream, style: Style, text: string): string => styleText(style, text, { stream });

/** Names and outputs may hold what moves the cursor or changes the title: shown, it would be done. */
export const withoutControlCharacters = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is taken out
  stripVTControlCharacters(text).replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '');

/** Writes to the end of what the reader takes, so that memory stays small behind a slow one. */
export async function write(stream: NodeJS.WriteStream, text: string | Uint8Array): Promise<void> {
  if (!stream.write(text)) await once(stream, 'drain');
}

export const say = (terminal: Terminal, line = ''): Promise<void> => write(terminal.stdout, `${line}\n`);
export const sayJson = (terminal: Terminal, value: unknown): Promise<void> =>
  write(terminal.stdout, `${jsonWithBigInts(value, undefined, 2)}\n`);
export const remark = (terminal: Terminal, line: string): Promise<void> => write(terminal.stderr, `${line}\n`);

export const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

/** How a command that was asked for JSON says why it ended. */
export const errorAsJson = (error: string, exitCode: number): string => `${JSON.stringify({ error, exit_code: exitCode })}\n`;

/** As a shell takes it for one word. */
export const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);
