import type { z } from 'zod';
import type { DatasetChangeResponse } from '../shared/wire/datasets.ts';
import { type Pages, pagesOf } from './pages.ts';
import { type CallOptions, clientOf } from './project.ts';

export type DatasetChange = z.output<typeof DatasetChangeResponse>;

/** The rows that a version added, removed or edited, as they were and as they are. Absent `fromVersion`: compared with the version before. */
export function datasetChanges(
  options: CallOptions & { id: string; versionIndex: number; fromVersion?: number | undefined },
): Pages<DatasetChange> {
  const { id, versionIndex, fromVersion } = options;
  const query: Record<string, string> = fromVersion === undefined ? {} : { from_version: String(fromVersion) };
  const path = `/datasets/${encodeURIComponent(id)}/versions/${versionIndex}/changes`;
  return pagesOf(clientOf(options), path, 'changes', undefined, query);
}
