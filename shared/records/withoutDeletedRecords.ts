import type { RunRef } from '../projects/runs.ts';
import { type Erased, type ErasedKey, goneWith } from './eraseRecords.ts';
import type { MetricValueStore } from './metricValues.ts';
import type { RecordWriter } from './recordWriter.ts';

export interface DeletedRecordDeps {
  store: {
    /** Those of these records whose keys are gone. */
    missing(run: RunRef, keys: readonly ErasedKey[]): Promise<ErasedKey[]>;
    eraseValues(run: RunRef, keys: readonly ErasedKey[]): Promise<Erased>;
  };
  writer: Pick<RecordWriter, 'exclusively'>;
}

/**
 * Values as they are computed beside the records: of a record that was deleted meanwhile none stays. An erasure takes the keys first and the
 * values then, so who still finds the key after writing wrote before the values were taken; who does not takes the values back.
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
      const erased = await writer.exclusively(run, async () => {
        const deleted = await store.missing(run, missing);
        return deleted.length > 0 ? store.eraseValues(run, deleted) : goneWith([]);
      });
      await erased.gone;
    },
  };
}
