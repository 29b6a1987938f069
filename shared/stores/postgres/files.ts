import { z } from 'zod';
import type { FileStore, UploadedFile } from '../../files/files.ts';
import { fileModalities } from '../../wire/recordParts.ts';
import type { Database } from './database.ts';
import { inCamelCase } from './inCamelCase.ts';
import { missingReference } from './missingReference.ts';

const Row = z
  .object({
    id: z.string(),
    project_id: z.string(),
    name: z.string(),
    content_type: z.string(),
    modality: z.enum(fileModalities),
    size_bytes: z.number(),
    created_by: z.string(),
    created_at: z.date(),
  })
  .transform((row): UploadedFile => inCamelCase(row));
const COLUMNS = 'id, project_id, name, content_type, modality, size_bytes, created_by, created_at';

/** Owns `files`. */
export function postgresFiles(database: Database): FileStore {
  return {
    insert: ({ id, projectId, name, contentType, modality, sizeBytes, createdBy }, bytes, mostBytes) =>
      database
        .transaction(async (tx) => {
          // One upload of a project after the other, so that two together are within the limit.
          await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`files/${projectId}`]);
          const row = await tx.maybeOne(
            `INSERT INTO files (id, project_id, name, content_type, modality, size_bytes, content, created_by)
             SELECT $1, $2, $3, $4, $5, $6::int, $7, $8 WHERE (SELECT coalesce(sum(size_bytes), 0) FROM files WHERE project_id = $2) + $6::int <= $9::bigint RETURNING ${COLUMNS}`,
            [id, projectId, name, contentType, modality, sizeBytes, bytes, createdBy, mostBytes],
          );
          return row && Row.parse(row);
        })
        .catch(missingReference('project')),
    async find(projectId, ids) {
      const rows = await database.query(`SELECT ${COLUMNS} FROM files WHERE project_id = $1 AND id = ANY ($2::uuid[])`, [
        projectId,
        [...ids],
      ]);
      return rows.map((row) => Row.parse(row));
    },
    async bytes(projectId, id) {
      const row = await database.maybeOne('SELECT content FROM files WHERE project_id = $1 AND id = $2', [projectId, id]);
      return row && z.instanceof(Uint8Array).parse(row.content);
    },
    async delete(projectId, id) {
      const row = await database.maybeOne('DELETE FROM files WHERE project_id = $1 AND id = $2 RETURNING id', [projectId, id]);
      return row !== undefined;
    },
  };
}
