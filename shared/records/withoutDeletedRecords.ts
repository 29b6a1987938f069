import type { RunRef } from '../projects/runs.ts';
import { type Erased, type ErasedKey, type ErasureNotes, goneWith } from './eraseRecords.ts';
import type { MetricValueStore } from './metricValues.ts';
import type { RecordWriter } from './recordWriter.ts';

export interface DeletedRecordDeps {
  store: {
    /** Those of these records whose keys are gone. */
    missing(run: RunRef, keys: readonly ErasedKey[]): Promise<ErasedKey[]>;
    eraseValues(run: RunRef, keys: readonly ErasedKey[]): Promise<Erased>;
  };
  notes: Pick<ErasureNotes, 'takesOneOf'>;
  writer: Pick<RecordWriter, 'exclusively'>;
}

/**
 * Values as they are computed beside the records: of a record that was deleted meanwhile none stays. An erasure is noted before it takes the values, and
 * is noted until the keys are gone. So who finds neither a note after writing nor, after that, a key missing wrote before the values were taken; others
 * take their values back.
 */
export function withoutDeletedRecords(values: MetricValueStore, { store, notes, writer }: DeletedRecordDeps): MetricValueStore {
  return {
    ...values,
    async write(run, written) {
      await values.write(run, written);
      const keys = [...new Map(written.map((value) => [value.recordId, value])).values()].map(
        ({ recordId, recordCreatedAt }) => ({
          id: recordId,
          created_at: recordCreatedAt,
        }),
      );
      const ids = keys.map(({ id }) => id);
      const suspected = (await notes.takesOneOf(run, ids)) ? keys : await store.missing(run, keys);
      if (suspected.length === 0) return;
      // A record of the same id may be on its way with values of its own, so whether it is there is asked again between writes.
      const erased = await writer.exclusively(run, async (confirm) => {
        const deleted = await store.missing(run, suspected);
        if (deleted.length === 0) return goneWith([]);
        await confirm();
        return store.eraseValues(run, deleted);
      });
      await erased.gone;
    },
  };
}
