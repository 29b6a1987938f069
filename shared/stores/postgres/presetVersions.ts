import { z } from 'zod';
import type { PresetVersionStore } from '../../scorers/presetVersions.ts';
import type { Database } from './database.ts';
import { inCamelCase } from './inCamelCase.ts';
import { versionColumns, versionTable } from './versionTable.ts';

const Settings = z.object({
  modelName: z.string().nullable(),
  modelNames: z.array(z.string()).nullable(),
  numJudges: z.number().nullable(),
  nodeTypes: z.array(z.string()).nullable(),
  explain: z.boolean().nullable(),
});

const VersionRow = z.object({ ...versionColumns, settings: Settings }).transform(inCamelCase);

/** Owns `preset_versions`. */
export function postgresPresetVersions(database: Database): PresetVersionStore {
  const { insert, ...reads } = versionTable(database, 'preset_versions', 'settings', VersionRow);
  return {
    ...reads,
    add: ({ settings, ...version }) =>
      database.transaction(async (tx) => {
        // There is no row of the metric to lock, so that versions made at once count one after the other.
        await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`preset versions/${version.scorerId}`]);
        return insert(tx, version, settings);
      }),
  };
}
