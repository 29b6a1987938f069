import { existsSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { ServiceError } from '../../errors/errors.ts';

/** Says how to recover from a file that cannot be used. The file holds nothing that is needed: Postgres has every run, and the record store its rows. */
const wayOut = (path: string): string =>
  `put a copy of it back, or move ${path} and the files beside it that begin with its name away: the next start makes a new one, and every run goes on`;

/**
 * Takes away a database file without any table, which a power cut or a full disk leaves behind: Temporal's dev server makes its tables only where there is no
 * file, and would not start.
 * @throws ServiceError `Unavailable` when the file is damaged, with what to do
 */
export function checkDatabaseFile(path: string, log: { warn(line: string): void }): void {
  if (!existsSync(path)) {
    for (const beside of ['-wal', '-shm']) rmSync(`${path}${beside}`, { force: true });
    return;
  }
  let isEmpty: boolean;
  try {
    const file = new DatabaseSync(path);
    try {
      isEmpty = file.prepare('SELECT 1 FROM sqlite_master LIMIT 1').get() === undefined;
    } finally {
      file.close();
    }
  } catch (cause) {
    throw new ServiceError(
      'Unavailable',
      `Temporal's database is damaged (${cause instanceof Error ? cause.message : String(cause)}): ${wayOut(path)}`,
      { cause },
    );
  }
  if (!isEmpty) return;
  log.warn(`Temporal's database ${path} was empty; the server makes a new one, and every run goes on`);
  for (const file of ['', '-wal', '-shm']) rmSync(`${path}${file}`, { force: true });
}

/** For a server that ended at its start: its database may be the reason. */
export const ifDamaged = (path: string): string => `If its log says that its database is damaged: ${wayOut(path)}`;
