import type { LogRecordIds } from '../shared/wire/recordSearch.ts';
import { clientOf, resolveProject } from './callOptions.ts';
import { Pages } from './pages.ts';
import { type RecordChoice, recordsOf } from './recordChoice.ts';

export interface RecordIdsOptions extends RecordChoice {
  /** Absent: the newest first. */
  sort?: { column_id: string; ascending?: boolean } | undefined;
}

/**
 * The ids of the records that match, 10,000 a request. Each page begins behind the last id of the one before: what is logged meanwhile moves none.
 * @throws ValueError unless exactly one run is given; HttpStatusError 422 for an unknown column or filter.
 */
export function recordIds(options: RecordIdsOptions): Pages<string> {
  const { kind = 'traces', sort } = options;
  const asked = { ...recordsOf(options), sort };
  const client = clientOf(options);
  let last: string | null = null;
  return new Pages(async (startingToken) => {
    const body = { ...asked, starting_token: startingToken, previous_last_row_id: startingToken === 0 ? null : last };
    const path = `/projects/${await resolveProject(client, options)}/${kind}/ids`;
    const page = await client.send<LogRecordIds>(path, { body, repeatable: true });
    last = page.last_row_id;
    return { items: page.ids, nextStartingToken: page.next_starting_token };
  });
}
