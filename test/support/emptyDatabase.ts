import pg from 'pg';
import { newId } from '../../shared/identifiers/ids.ts';
import type { PostgresServer } from './postgresServer.ts';

/** The URL of a new, empty database on a running server. */
export async function emptyDatabase(server: PostgresServer): Promise<string> {
  const name = `stories_${newId().replaceAll('-', '')}`;
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  const url = new URL(server.url);
  url.pathname = name;
  return url.href;
}
