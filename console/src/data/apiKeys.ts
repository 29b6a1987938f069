import type { z } from 'zod';
import type { CreatedApiKey } from '../../../shared/wire/accounts.ts';
import { send } from './service.ts';

/** Makes a key that logs to one project and reads nothing. @returns its text, which no other answer shows */
export async function createLoggingKey(project: { id: string; name: string }): Promise<string> {
  const description = `Logs to ${project.name}`.slice(0, 1_000);
  const body = { description, project_id: project.id, ingest_only: true };
  return (await send<z.output<typeof CreatedApiKey>>('/users/api_keys', { body })).api_key;
}
