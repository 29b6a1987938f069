import { z } from 'zod';
import type { AssetKind, AssetSource, AssetViewer } from '../../assets/assetAccess.ts';
import { inPieces } from '../../concurrency/inPieces.ts';
import { projectRoles } from '../../wire/accounts.ts';
import { type Binder, createBinder, looksUp } from './conditions.ts';
import type { Database, Queries } from './database.ts';
import { byName, type Listing, listedValues } from './listScan.ts';
import { usedScorers } from './scorerSettings.ts';

/** How each kind says to whom it belongs; all expressions are over its row `a`. */
interface AssetTable {
  table: string;
  /** The role that everyone in the organization has; null for none. */
  organization: string;
  /** The projects that it belongs to. */
  home: string;
  /** A condition: one of the projects of the array expression uses it. @param used an array expression of the ids that they use */
  used(projects: string, used: () => string): string;
}

const tables: Record<AssetKind, AssetTable> = {
  dataset: {
    table: 'datasets',
    organization: `CASE WHEN a.organization THEN 'editor' END`,
    home: 'ARRAY[a.project_id]',
    used: (projects) => looksUp(`FROM dataset_projects l WHERE l.dataset_id = a.id AND l.project_id = ANY (${projects})`),
  },
  prompt: {
    table: 'prompt_templates',
    organization: `CASE WHEN a.organization THEN 'editor' END`,
    home: 'ARRAY[a.project_id]',
    used: (projects) =>
      looksUp(`FROM prompt_template_versions v JOIN experiments e ON e.prompt_template_version_id = v.id
      WHERE v.template_id = a.id AND e.project_id = ANY (${projects})`),
  },
  scorer: {
    table: 'scorers',
    organization: `CASE WHEN a.organization THEN 'editor' END`,
    home: 'a.project_ids',
    used: (_, used) => `a.id::text = ANY (${used()})`,
  },
  integration: {
    table: 'integrations',
    // The runs of every project may call its models.
    organization: `'viewer'`,
    home: 'ARRAY[]::uuid[]',
    used: () => 'false',
  },
};

/** The strongest first. */
const strength = (role: string) => `array_position(ARRAY['${projectRoles.join("','")}'], ${role})`;

/** The strongest role that anything grants the viewer on the asset `alias`; null for none. @param usedIds scorers that their projects use */
function grantSql(kind: AssetKind, alias: string, viewer: AssetViewer, usedIds: readonly string[], bind: Binder['bind']): string {
  if (viewer.everything) return `'owner'`;
  const { organization, home, used } = tables[kind];
  const over = (sql: string) => sql.replaceAll(/\ba\./g, `${alias}.`);
  const user = bind(viewer.userId, 'uuid');
  const projects = bind(
    viewer.projects.map(({ id }) => id),
    'uuid[]',
  );
  const roles = bind(
    viewer.projects.map(({ role }) => role),
    'text[]',
  );
  const grants = [
    ...(viewer.limited ? [] : [`SELECT ${over(organization)} AS role`]),
    // A key limited to a project does not own what its user made elsewhere.
    `SELECT s.role FROM ${kind}_users s WHERE s.asset_id = ${alias}.id AND s.user_id = ${user}${viewer.limited ? ` AND s.user_id <> ${alias}.created_by` : ''}`,
    `SELECT s.role FROM ${kind}_groups s JOIN user_group_members m ON m.group_id = s.group_id AND m.user_id = ${user} AND m.role <> 'pending'
     WHERE s.asset_id = ${alias}.id`,
    `SELECT p.role FROM unnest(${projects}, ${roles}) AS p(id, role) WHERE p.id = ANY (${over(home)})`,
    `SELECT 'viewer' WHERE ${over(used(projects, () => bind(usedIds, 'text[]')))}`,
  ];
  return `(SELECT g.role FROM (${grants.join(' UNION ALL ')}) g WHERE g.role IS NOT NULL ORDER BY ${strength('g.role')} LIMIT 1)`;
}

/** A condition: the viewer's list holds the asset `alias`. One of its grants is among those of the viewer, which hold every stronger one of each. */
export function listedSql(kind: 'dataset' | 'prompt', alias: string, viewer: AssetViewer, bind: Binder['bind']): string {
  if (viewer.everything) return viewer.grants.includes('owner') ? 'true' : 'false';
  const { organization, home, used } = tables[kind];
  const over = (sql: string) => sql.replaceAll(/\ba\./g, `${alias}.`);
  const user = bind(viewer.userId, 'uuid');
  const wanted = bind(viewer.grants, 'text[]');
  const ids = (projects: AssetViewer['projects']) =>
    bind(
      projects.map(({ id }) => id),
      'uuid[]',
    );
  const at = ids(viewer.projects.filter(({ role }) => viewer.grants.includes(role)));
  const made = `${alias}.created_by = ${user}`;
  return `(${[
    ...(viewer.limited ? [] : [`${over(organization)} = ANY (${wanted})`]),
    `${over(home)} && ${at}`,
    ...(viewer.limited
      ? []
      : [
          `${made} AND (SELECT s.role FROM ${kind}_users s WHERE s.asset_id = ${alias}.id AND s.user_id = ${user}) = ANY (${wanted})`,
        ]),
    `NOT ${made} AND ${looksUp(`FROM ${kind}_users s WHERE s.asset_id = ${alias}.id AND s.user_id = ${user} AND s.role = ANY (${wanted})`)}`,
    looksUp(`FROM ${kind}_groups s JOIN user_group_members m ON m.group_id = s.group_id AND m.user_id = ${user} AND m.role <> 'pending'
       WHERE s.asset_id = ${alias}.id AND s.role = ANY (${wanted})`),
    ...(viewer.grants.includes('viewer') ? [over(used(ids(viewer.projects), () => 'NULL'))] : []),
  ].join(' OR ')})`;
}

/** Makes the creator of a new asset its owner. */
export async function addOwner(queries: Queries, kind: AssetKind, assetId: string, userId: string): Promise<void> {
  await queries.query(
    `INSERT INTO ${kind}_users (id, asset_id, user_id, role) SELECT gen_random_uuid(), $1, id, 'owner' FROM users WHERE id = $2
     ON CONFLICT (asset_id, user_id) DO NOTHING`,
    [assetId, userId],
  );
}

/** Hides the asset and frees its name. False when there is none. */
export async function markDeleted(queries: Queries, kind: AssetKind, assetId: string): Promise<boolean> {
  const row = await queries.maybeOne(
    `UPDATE ${tables[kind].table} SET deleted_at = now() WHERE id = $1 AND deleted_at IS NULL RETURNING id`,
    [assetId],
  );
  return row !== undefined;
}

/** Names that start with `prefix`, of what the viewer's list holds. */
export function listedNames(
  database: Database,
  kind: 'dataset' | 'prompt',
  prefix: string,
  viewer: AssetViewer,
): Promise<string[]> {
  const { bind, values } = createBinder();
  const listing: Listing = {
    ...{ table: tables[kind].table, alias: 'a', within: 'a.deleted_at IS NULL', values },
    walk: { columns: byName, descending: false },
    conditions: [`starts_with(a.name, ${bind(prefix, 'text')})`, listedSql(kind, 'a', viewer, bind)],
  };
  return listedValues(database, listing, 'a.name', z.string());
}

const Grant = z.object({ id: z.string(), role: z.enum(projectRoles) });
const byId = (rows: readonly unknown[]) =>
  new Map(
    z
      .array(Grant)
      .parse(rows)
      .map(({ id, role }) => [id, role]),
  );

export function postgresAssets(database: Database): AssetSource {
  return {
    projectRoles: async (userId) =>
      byId(
        await database.query(
          `SELECT DISTINCT ON (c.id) c.id, c.role FROM (
             SELECT project_id AS id, role FROM project_users WHERE user_id = $1
             UNION ALL
             SELECT g.project_id, g.role FROM project_groups g JOIN user_group_members m ON m.group_id = g.group_id AND m.user_id = $1 AND m.role <> 'pending'
           ) c ORDER BY c.id, ${strength('c.role')}`,
          [userId],
        ),
      ),
    async grants(kind, viewer, ids) {
      const projects = viewer.projects.map(({ id }) => id);
      const usedIds = kind === 'scorer' && !viewer.everything ? await usedScorers(database, projects) : [];
      const rows = await inPieces(ids, (piece) => {
        const { bind, values } = createBinder();
        const sql = `SELECT a.id, ${grantSql(kind, 'a', viewer, usedIds, bind)} AS role FROM ${tables[kind].table} a WHERE a.id = ANY (${bind(piece, 'uuid[]')})`;
        return database.query(sql, values);
      });
      return byId(rows.filter(({ role }) => role !== null));
    },
  };
}
