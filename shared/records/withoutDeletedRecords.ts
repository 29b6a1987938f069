import type { RunRef } from '../projects/runs.ts';
import type { ErasedKey } from './eraseRecords.ts';
import type { MetricValueStore } from './metricValues.ts';
import type { RecordWriter } from './recordWriter.ts';

export interface DeletedRecordDeps {
  store: {
    /** Those of these records that are not stored. */
    missing(run: RunRef, keys: readonly ErasedKey[]): Promise<ErasedKey[]>;
    eraseValues(run: RunRef, keys: readonly ErasedKey[]): Promise<void>;
  };
  writer: Pick<RecordWriter, 'exclusively'>;
}

/**
 * Values as they are computed beside the records: of a record that was deleted meanwhile none stays. An erasure takes the records first and their
 * values then, so who still finds the record after writing wrote before its values were taken; who does not takes the values back.
 */
export function withoutDeletedRecords(values: MetricValueStore, { store, writer }: DeletedRecordDeps): MetricValueStore {
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
      const missing = await store.missing(run, keys);
      if (missing.length === 0) return;
      // A record of the same id may be on its way with values of its own, so whether it is there is asked again between writes.
      await writer.exclusively(run, async () => {
        const gone = await store.missing(run, missing);
        if (gone.length > 0) await store.eraseValues(run, gone);
      });
    },
  };
}
