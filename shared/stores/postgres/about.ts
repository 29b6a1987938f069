import { z } from 'zod';
import type { About, FoundAbout } from '../../accounts/accountStore.ts';
import { projectRoles } from '../../wire/accounts.ts';
import type { Row } from './database.ts';

/** The strongest role of a user in project `p`, by name or through a group; null for none. @param userId SQL */
export const membershipOf = (userId: string): string => `(
  SELECT m.role FROM (
    SELECT c.role FROM project_users c WHERE c.project_id = p.id AND c.user_id = ${userId}
    UNION ALL
    SELECT c.role FROM project_groups c JOIN user_group_members g ON g.group_id = c.group_id AND g.user_id = ${userId} AND g.role <> 'pending'
    WHERE c.project_id = p.id
  ) m ORDER BY array_position(ARRAY['${projectRoles.join("','")}'], m.role) LIMIT 1
)`;

export const Membership = z
  .enum(projectRoles)
  .nullable()
  .transform((role) => role ?? undefined);

const AboutRow = z.object({
  about_id: z.string().nullable(),
  about_name: z.string().nullable(),
  about_membership: Membership,
  about_run: z.object({ id: z.string(), kind: z.string(), name: z.string() }).nullable(),
});

/** Columns of what `aboutJoin` joins to a statement that finds a caller. */
export const aboutColumns = `about.id AS about_id, about.name AS about_name, about.membership AS about_membership,
  (SELECT jsonb_build_object('id', r.id, 'kind', r.kind, 'name', r.name) FROM runs r WHERE r.id = about.run_id AND r.project_id = about.id) AS about_run`;

/** Joins what a request is about. @param userId SQL @param first number of the first of the two parameters that `aboutValues` gives */
export const aboutJoin = (userId: string, first: number): string =>
  `LEFT JOIN LATERAL (
     SELECT p.id, p.name, ${membershipOf(userId)} AS membership, $${first + 1}::uuid AS run_id FROM projects p WHERE p.id = $${first}::uuid
   ) about ON true`;

export const aboutValues = (about: About | undefined): unknown[] => [about?.projectId ?? null, about?.runId ?? null];

export function readAbout(row: Row): FoundAbout {
  const { about_id: id, about_name: name, about_membership: membership, about_run: run } = AboutRow.parse(row);
  return { project: id !== null && name !== null ? { id, name, membership } : undefined, run: run ?? undefined };
}
