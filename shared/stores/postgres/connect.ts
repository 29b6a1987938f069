import type { Database } from './database.ts';
import { openEmbedded } from './embedded.ts';
import { migrate } from './migrate.ts';
import { connectServer, type DatabaseServer, databaseLimits } from './server.ts';
import { keepInOrder } from './statistics.ts';

/**
 * Opens Postgres at `url`, or PGlite in `directory`, and applies all migrations. PGlite has no time limits: it runs on this process's own event loop, where
 * no signal ends a statement. The caller of a long statement leaves time to the others after it.
 */
export async function openDatabase(at: DatabaseServer | { directory: string }): Promise<Database> {
  if (!('url' in at)) {
    const embedded = await openEmbedded(at.directory);
    await migrate(embedded);
    const stop = await keepInOrder(embedded);
    return {
      ...embedded,
      close() {
        stop();
        return embedded.close();
      },
    };
  }
  // A migration of a large table may take long, and those that start beside it wait for it.
  const migrating = await connectServer({ ...at, connections: 1 }, undefined);
  try {
    await migrate(migrating);
  } finally {
    await migrating.close();
  }
  return connectServer(at, at.limits ?? databaseLimits);
}
