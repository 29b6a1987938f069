import { z } from 'zod';
import type { AssetViewer } from '../../assets/assetAccess.ts';
import { inPieces } from '../../concurrency/inPieces.ts';
import { nameTaken } from '../../identifiers/freeName.ts';
import type { NewPromptVersion, Prompt, PromptStore, PromptVersion } from '../../prompts/prompts.ts';
import type { PromptTemplate } from '../../prompts/render.ts';
import { UserInfo } from '../../wire/datasets.ts';
import { PromptRunSettings, Template, type TemplateFilter, type TemplateSort } from '../../wire/prompts.ts';
import { addOwner, listedNames, listedSql, markDeleted } from './assetAccess.ts';
import { type Binder, conditionsOf, createBinder, idCondition, looksUp, textCondition } from './conditions.ts';
import type { Database, Queries } from './database.ts';
import { isUniqueViolation } from './databaseErrors.ts';
import { inCamelCase } from './inCamelCase.ts';
import { byChange, byCreation, byName, countListed, type Listing, listedIds } from './listScan.ts';
import { pageFrom, rowsFor } from './pageOf.ts';
import { TimeRow, userInfoSql } from './userInfo.ts';

const VersionRow = z
  .object({
    id: z.string(),
    template_id: z.string(),
    name: z.string(),
    version: z.number(),
    template: Template.transform((template) => template as PromptTemplate),
    raw: z.boolean(),
    settings: PromptRunSettings,
    output_type: z.string().nullable(),
    model_changed: z.boolean(),
    settings_changed: z.boolean(),
    content_changed: z.boolean(),
    created_at: TimeRow,
    updated_at: TimeRow,
    created_by_user: UserInfo,
  })
  .transform(({ created_by_user: createdBy, ...row }): PromptVersion => ({ ...inCamelCase(row), createdBy }));

const PromptRow = z
  .object({
    id: z.string(),
    name: z.string(),
    selected_version: z.number(),
    created_at: TimeRow,
    updated_at: TimeRow,
    created_by_user: UserInfo,
  })
  .transform(({ created_by_user: createdBy, ...row }) => ({ ...inCamelCase(row), createdBy }));

const selectPrompts = `SELECT t.id, t.name, t.selected_version, t.created_at, t.updated_at, ${userInfoSql('u')} AS created_by_user
  FROM prompt_templates t JOIN users u ON u.id = t.created_by`;
const selectVersions = `SELECT v.*, t.name, ${userInfoSql('u')} AS created_by_user
  FROM prompt_template_versions v JOIN prompt_templates t ON t.id = v.template_id JOIN users u ON u.id = v.created_by`;

/** Prompts `t` that are in the viewer's list. Hidden ones are found by name only. */
function promptListing(viewer: AssetViewer, filters: readonly TemplateFilter[], sort: TemplateSort | null): Listing {
  const { values, bind } = createBinder();
  const namesOne = filters.some((filter) => filter.name === 'name' && filter.operator === 'eq');
  const { within, conditions } = conditionsOf(filters, (filter) => filterSql(filter, bind));
  return {
    table: 'prompt_templates',
    alias: 't',
    within: ['t.deleted_at IS NULL', ...within].join(' AND '),
    conditions: [...(namesOne ? [] : ['NOT t.hidden']), ...conditions, listedSql('prompt', 't', viewer, bind)],
    walk: {
      columns: { name: byName, created_at: byCreation, updated_at: byChange }[sort?.name ?? 'updated_at'],
      descending: !sort?.ascending,
    },
    values,
  };
}

export function promptStore(database: Database): PromptStore {
  /** Prompts with all their versions, in two statements. */
  const prompts = async (sql: string, params: unknown[]): Promise<Prompt[]> => {
    const found = (await database.query(sql, params)).map((row) => PromptRow.parse(row));
    if (found.length === 0) return [];
    const rows = await database.query(`${selectVersions} WHERE v.template_id = ANY($1::uuid[]) ORDER BY v.version`, [
      found.map(({ id }) => id),
    ]);
    const versions = Map.groupBy(
      rows.map((row) => VersionRow.parse(row)),
      ({ templateId }) => templateId,
    );
    return found.map((prompt) => ({ ...prompt, versions: versions.get(prompt.id) ?? [] }));
  };

  return {
    async insert({ id, name, hidden, projectId, userId }, first) {
      await database
        .transaction(async (tx) => {
          await tx.query(
            `INSERT INTO prompt_templates (id, name, hidden, selected_version, created_by, created_at, updated_at, organization, project_id)
             VALUES ($1, $2, $3, 1, $4, now(), now(), $5, $6)`,
            [id, name, hidden, userId, projectId === undefined, projectId ?? null],
          );
          await addOwner(tx, 'prompt', id, userId);
          await insertVersion(tx, id, 1, userId, first);
          if (projectId !== undefined)
            await tx.query('INSERT INTO prompt_template_projects (template_id, project_id) VALUES ($1, $2)', [id, projectId]);
        })
        .catch((err) => orNameTaken(err, name));
    },

    async find(id) {
      return (await prompts(`${selectPrompts} WHERE t.id = $1 AND t.deleted_at IS NULL`, [id]))[0];
    },

    async findByName(name, projectId) {
      const inProject = 'EXISTS (SELECT 1 FROM prompt_template_projects p WHERE p.template_id = t.id AND p.project_id = $2)';
      return (
        await prompts(
          `${selectPrompts} WHERE t.name = $1 AND t.deleted_at IS NULL${projectId === undefined ? '' : ` AND ${inProject}`}`,
          projectId === undefined ? [name] : [name, projectId],
        )
      )[0];
    },

    async query({ viewer, filters, sort, page }) {
      const { items: ids, hasMore } = await listedIds(database, promptListing(viewer, filters, sort), {
        limit: page.limit,
        offset: page.starting_token,
      });
      const read = async (piece: readonly string[]) => {
        const found = await prompts(`${selectPrompts} WHERE t.id = ANY ($1::uuid[])`, [piece]);
        const byId = new Map(found.map((one) => [one.id, one]));
        return piece.flatMap((id) => byId.get(id) ?? []);
      };
      return { items: await inPieces(ids, read), hasMore };
    },

    count: ({ viewer, filters }) => countListed(database, promptListing(viewer, filters, null)),

    async versions(promptId, sort, page) {
      const order = sort ? `v.${sort.name} ${sort.ascending ? 'ASC' : 'DESC'}` : 'v.version DESC';
      const rows = await database.query(
        `${selectVersions} WHERE v.template_id = $1 ORDER BY ${order}, v.version DESC LIMIT ${rowsFor(page.limit)} OFFSET ${page.starting_token}`,
        [promptId],
      );
      return pageFrom(z.array(VersionRow).parse(rows), page.limit);
    },

    async version(versionId) {
      const row = await database.maybeOne(`${selectVersions} WHERE v.id = $1`, [versionId]);
      return row && VersionRow.parse(row);
    },

    addVersion: (promptId, after, userId, version) =>
      database
        .transaction(async (tx) => {
          const prompt = await tx.maybeOne(
            'UPDATE prompt_templates SET updated_at = now() WHERE id = $1 AND deleted_at IS NULL RETURNING id',
            [promptId],
          );
          if (prompt) await insertVersion(tx, promptId, after + 1, userId, version);
          return prompt !== undefined;
        })
        .catch((err) => {
          if (isUniqueViolation(err)) return false;
          throw err;
        }),

    async select(promptId, version) {
      const row = await database.maybeOne(
        `UPDATE prompt_templates t SET selected_version = $2, updated_at = now() WHERE id = $1 AND deleted_at IS NULL
           AND EXISTS (SELECT 1 FROM prompt_template_versions v WHERE v.template_id = t.id AND v.version = $2) RETURNING id`,
        [promptId, version],
      );
      return row !== undefined;
    },

    async rename(promptId, name) {
      await database
        .query('UPDATE prompt_templates SET name = $2, updated_at = now() WHERE id = $1 AND deleted_at IS NULL', [promptId, name])
        .catch((err) => orNameTaken(err, name));
    },

    remove: (promptId) => markDeleted(database, 'prompt', promptId),

    namesFrom: (prefix, viewer) => listedNames(database, 'prompt', prefix, viewer),

    async isInProject(promptId, projectId) {
      const row = await database.maybeOne(
        'SELECT template_id FROM prompt_template_projects WHERE template_id = $1 AND project_id = $2',
        [promptId, projectId],
      );
      return row !== undefined;
    },
  };
}

async function insertVersion(
  tx: Queries,
  promptId: string,
  number: number,
  userId: string,
  version: NewPromptVersion,
): Promise<void> {
  await tx.query(
    `INSERT INTO prompt_template_versions (id, template_id, version, template, raw, settings, output_type, model_changed, settings_changed,
       content_changed, created_by, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, now(), now())`,
    [
      version.id,
      promptId,
      number,
      JSON.stringify(version.template),
      version.raw,
      JSON.stringify(version.settings),
      version.outputType,
      version.modelChanged,
      version.settingsChanged,
      version.contentChanged,
      userId,
    ],
  );
}

function orNameTaken(err: unknown, name: string): never {
  throw isUniqueViolation(err, 'prompt_templates_name') ? nameTaken('prompt template', name, err) : err;
}

/** Boolean SQL over the alias `t`. Hidden prompts are found by name or id only. */
function filterSql(filter: TemplateFilter, bind: Binder['bind']): string {
  switch (filter.name) {
    case 'name':
      return textCondition('t.name', { ...filter, caseSensitive: filter.case_sensitive }, bind);
    case 'creator':
      return idCondition('t.created_by', filter, bind);
    case 'used_in_project':
      return looksUp(
        `FROM prompt_template_projects p WHERE p.template_id = t.id AND p.project_id = ${bind(filter.value, 'uuid')}`,
      );
    case 'not_in_project':
      return `NOT ${looksUp(`FROM prompt_template_projects p WHERE p.template_id = t.id AND p.project_id = ${bind(filter.value, 'uuid')}`)}`;
    default:
      return filter satisfies never;
  }
}
