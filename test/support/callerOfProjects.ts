import type { Gate } from '../../api/http/route.ts';
import type { Caller } from '../../shared/accounts/permissions.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import type { Database } from '../../shared/stores/postgres/database.ts';

/** Makes the one caller of a service, who owns the projects that they see, and the gate that lets them in. */
export async function callerOfProjects(database: Database, email = `${newId()}@example.com`) {
  const caller: Caller = { userId: newId(), email, role: 'user' };
  await database.query("INSERT INTO users (id, email, first_name, role) VALUES ($1, $2, 'Ada', $3)", [
    caller.userId,
    caller.email,
    caller.role,
  ]);
  const visible = new Set<string>();
  const gate: Gate = {
    authenticate: async () => caller,
    async authorize(_caller, access, projectId) {
      if (typeof access === 'string' || !('project' in access)) return undefined;
      if (projectId === undefined || !visible.has(projectId))
        throw new ServiceError('NotFound', `there is no project ${projectId}`);
      return { id: projectId, name: 'a project', role: 'owner' };
    },
  };
  return {
    caller,
    gate,
    /** Makes a project that the caller sees, or does not. @returns its id */
    async project(seen = true): Promise<string> {
      const id = newId();
      await database.query("INSERT INTO projects (id, name, type, created_by) VALUES ($1, $2, 'gen_ai', $3)", [
        id,
        `project ${id}`,
        caller.userId,
      ]);
      if (seen) visible.add(id);
      return id;
    },
  };
}
