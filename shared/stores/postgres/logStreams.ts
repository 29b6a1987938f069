import { z } from 'zod';
import { ServiceError } from '../../errors/errors.ts';
import type { LogStream, LogStreamQuery, LogStreamStore } from '../../projects/projectStore.ts';
import { conditionsOf, createBinder, runCondition } from './conditions.ts';
import type { Database } from './database.ts';
import { isUniqueViolation } from './databaseErrors.ts';
import { inCamelCase } from './inCamelCase.ts';
import { byCreation, byName, type Listing, listedItems, orderedBy, timeKey } from './listScan.ts';
import { missingReference } from './missingReference.ts';

const LogStreamRow = z
  .object({
    id: z.string(),
    project_id: z.string(),
    name: z.string(),
    created_by: z.string(),
    created_at: z.date(),
    updated_at: z.date(),
  })
  .transform((row): LogStream => inCamelCase(row));

const nameTaken = (err: unknown): never => {
  if (isUniqueViolation(err, 'runs_log_stream_name'))
    throw new ServiceError('Conflict', 'the project has a log stream of this name already', { cause: err });
  throw err;
};

/** Log streams: the runs of that kind. */
export function postgresLogStreams(database: Database): LogStreamStore {
  const listing = (projectId: string, query: LogStreamQuery): Listing => {
    const { bind, values } = createBinder();
    const { within, conditions } = conditionsOf(query.filters, (filter) => runCondition(filter, bind));
    const walks = { created_at: byCreation, name: byName };
    return {
      table: 'runs',
      alias: 'r',
      within: [`r.kind = 'log_stream' AND r.project_id = ${bind(projectId, 'uuid')}`, ...within].join(' AND '),
      conditions,
      ...orderedBy(query.sort ?? { name: 'created_at', ascending: false }, walks, () => timeKey('r.updated_at')),
      values,
    };
  };
  return {
    async runName(projectId, kind, runId) {
      const sql = 'SELECT name FROM runs WHERE id = $1 AND project_id = $2 AND kind = $3';
      return z
        .string()
        .optional()
        .parse((await database.maybeOne(sql, [runId, projectId, kind]))?.name);
    },
    async insert({ id, projectId, name, createdBy }) {
      const row = await database
        .maybeOne(`INSERT INTO runs (id, project_id, kind, name, created_by) VALUES ($1, $2, 'log_stream', $3, $4) RETURNING *`, [
          id,
          projectId,
          name,
          createdBy,
        ])
        .catch(nameTaken)
        .catch(missingReference('project'));
      return LogStreamRow.parse(row);
    },
    find: (projectId, query, page) =>
      listedItems(
        database,
        listing(projectId, query),
        page,
        (ids) => database.query('SELECT * FROM runs WHERE id = ANY ($1::uuid[])', [ids]),
        LogStreamRow,
      ),
    async get(projectId, logStreamId) {
      const row = await database.maybeOne(`SELECT * FROM runs WHERE id = $1 AND project_id = $2 AND kind = 'log_stream'`, [
        logStreamId,
        projectId,
      ]);
      return row && LogStreamRow.parse(row);
    },
    async rename(projectId, logStreamId, name) {
      const row = await database
        .maybeOne(
          `UPDATE runs SET name = $3, updated_at = now() WHERE id = $1 AND project_id = $2 AND kind = 'log_stream' RETURNING *`,
          [logStreamId, projectId, name],
        )
        .catch(nameTaken);
      return row && LogStreamRow.parse(row);
    },
  };
}
