import { deleteRecords } from '../../shared/records/delete.ts';
import { refuseMisspeltFilter } from '../../shared/records/refuseMisspeltFilter.ts';
import { Message } from '../../shared/wire/common.ts';
import { ProjectParams } from '../../shared/wire/projects.ts';
import { type RecordKind, recordKinds } from '../../shared/wire/recordKinds.ts';
import { LogRecordsDeleteRequest } from '../../shared/wire/recordSearch.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import type { RecordDeps } from './loggedRecords.ts';
import { recordQuery } from './recordQuery.ts';

/** Deletion of what a filter finds among the traces, spans or sessions of a run. */
export function deleteRoute(deps: RecordDeps, what: string, kinds: readonly RecordKind[], also: string): Endpoint {
  return endpoint({
    method: 'post',
    path: `/projects/{project_id}/${what}/delete`,
    summary: `Delete ${what} of a run`,
    description: `Deletes the ${what} that match; without a filter, all of the run. ${also}`,
    tag: 'Records',
    access: { project: 'delete_data' },
    params: ProjectParams,
    body: LogRecordsDeleteRequest,
    response: Message,
    async handle({ project, body, request }) {
      refuseMisspeltFilter(body, request.query);
      // Deleting a whole run takes its sessions as well, and the spans whose trace never came.
      const isWholeRun = kinds.includes('trace') && !body.filters?.length && !body.filter_tree;
      const query = await recordQuery(deps, project.id, isWholeRun ? recordKinds : kinds, body);
      return { message: `${await deleteRecords(deps.deletion, query)} records deleted` };
    },
  });
}
