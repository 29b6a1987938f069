import type { StoredFields } from '../columns/recordFields.ts';
import type { RecordKind } from '../wire/recordKinds.ts';

type Settled = 'project_id' | 'run_id' | 'id' | 'type' | 'created_at' | 'version' | 'session_id' | 'trace_id';

/**
 * A record as the store keeps it. Its fields are those of the registry that are stored, under the names of the wire. Inputs and outputs are values of
 * the wire: a string, or what is stored as JSON text.
 */
export interface StoredRecord extends Partial<Omit<StoredFields, Settled>>, Pick<StoredFields, Exclude<Settled, 'type'>> {
  type: RecordKind;
}
