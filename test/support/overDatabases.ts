import { afterAll, describe } from 'vitest';
import { describeWithServer } from './describeWithServer.ts';
import { emptyDatabase } from './emptyDatabase.ts';
import { type PostgresServer, postgresProgram, startPostgresServer } from './postgresServer.ts';

/**
 * Runs the stories over the embedded Postgres and over a server.
 * @param stories get a function that makes a new database, and returns its url; undefined for an embedded one
 */
export function overDatabases(stories: (databaseUrl: () => Promise<string | undefined>) => void): void {
  describe('embedded', () => stories(async () => undefined));

  describeWithServer('over a Postgres server', postgresProgram, (program) => {
    let server: PostgresServer | undefined;
    afterAll(() => server?.remove());
    stories(async () => {
      server ??= await startPostgresServer(program);
      return emptyDatabase(server);
    });
  });
}
