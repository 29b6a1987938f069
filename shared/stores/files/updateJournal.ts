import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { UpdateJournal } from '../../records/notedUpdates.ts';

const SUFFIX = '.jsonl';

/**
 * Texts without line ends, kept in files of a folder. A text is in the page cache when `append` returns: it outlives the process, and a power cut may
 * take what came in the last seconds, as in the other embedded stores. The files that a process left behind go with the first `cut`.
 * @throws when the folder cannot be read
 */
export function openUpdateJournal(folder: string): UpdateJournal & { close(): void } {
  mkdirSync(folder, { recursive: true });
  let kept = readdirSync(folder)
    .filter((name) => name.endsWith(SUFFIX))
    .sort();
  let next = Number.parseInt(kept.at(-1) ?? '0', 10) + 1;
  // A line that a crash or a full disk has cut off was never answered; an entry begins a line of its own, whatever is before it.
  const left = kept.flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n')).filter(isWhole);
  let file: number | undefined;
  const close = () => {
    if (file !== undefined) closeSync(file);
    file = undefined;
  };
  return {
    left,
    append(text) {
      if (file === undefined) {
        const name = `${String(next++).padStart(12, '0')}${SUFFIX}`;
        file = openSync(join(folder, name), 'a', 0o600);
        kept.push(name);
      }
      const bytes = Buffer.from(`\n${text}\n`);
      if (writeSync(file, bytes) !== bytes.length)
        throw Object.assign(new Error('an update could not be noted as a whole'), { code: 'ENOSPC' });
    },
    cut() {
      close();
      const names = kept;
      kept = [];
      return () => {
        for (const name of names) rmSync(join(folder, name), { force: true });
      };
    },
    close,
  };
}

function isWhole(line: string): boolean {
  try {
    return line !== '' && JSON.parse(line) !== null;
  } catch {
    return false;
  }
}
