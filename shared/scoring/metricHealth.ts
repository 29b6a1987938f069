import type { ExportReads } from '../records/exportRecords.ts';
import { columnFinder } from '../records/findColumn.ts';
import type { RecordKey, RecordReads, RecordRun } from '../records/searchRecords.ts';
import type { Scorer } from '../scorers/scorer.ts';
import { testedMetricKeys } from '../wire/metricsTesting.ts';
import { type RecordKind, recordKinds } from '../wire/recordKinds.ts';
import type { OutputType } from '../wire/scorers.ts';
import { type HealthScore, healthScore, type Pair } from './healthScore.ts';

export interface MetricHealthDeps {
  stream: Pick<ExportReads, 'keys'>;
  records: Pick<RecordReads, 'records' | 'metricResults'>;
}

export interface HealthQuestion {
  run: RecordRun;
  scorer: Pick<Scorer, 'id' | 'name' | 'definition'>;
  outputType: OutputType;
  /** Kinds of records that are rows of the test; absent: those that the scorer looks at. */
  kinds?: readonly RecordKind[] | undefined;
  /** Ground truth by row (the record's id, or its external id) in place of what is stored; null: there is none. */
  overlay: Readonly<Record<string, string | null>>;
}

export interface MetricHealth extends HealthScore {
  scoredRows: number;
  rowsWithTruth: number;
}

/** Records read at a time. */
const BATCH = 1000;

/**
 * Compares a scorer's values in a metrics-testing run with the ground truth of its rows: the overlay's, or what a row has in its
 * `dataset_metadata` under the scorer's name, label or id.
 */
export async function metricHealth(deps: MetricHealthDeps, question: HealthQuestion): Promise<MetricHealth> {
  const { run, scorer, outputType, overlay } = question;
  const kinds = question.kinds?.length ? question.kinds : kindsOf(scorer);
  const metrics = [scorer.id, scorer.name, ...testedMetricKeys];
  const names = [scorer.name, scorer.definition.label, scorer.id].filter((name) => name !== undefined && name !== null);
  const ofRow = new Map(Object.entries(overlay).map(([row, truth]) => [row.toLowerCase(), truth]));
  const pairs: Pair[] = [];
  let scoredRows = 0;
  let rowsWithTruth = 0;
  const look = async (keys: readonly RecordKey[]): Promise<void> => {
    const [records, results] = await Promise.all([
      deps.records.records(run, keys, ['external_id', 'dataset_metadata']),
      deps.records.metricResults(run, keys, metrics),
    ]);
    for (const { id, external_id, dataset_metadata = {} } of records) {
      const successes = (results.get(id) ?? []).filter(({ result }) => result.status_type === 'success');
      const found = metrics.flatMap((metric) => successes.filter((one) => one.metric === metric))[0]?.result;
      const score = found?.status_type === 'success' ? found.value : null;
      const stored = names.filter((name) => Object.hasOwn(dataset_metadata, name)).map((name) => dataset_metadata[name]);
      const row = [id, external_id?.toLowerCase()].find((one) => one !== undefined && ofRow.has(one));
      const truth = row === undefined ? stored[0] : ofRow.get(row);
      if (score !== null) scoredRows++;
      if (isSaid(truth)) rowsWithTruth++;
      if (score !== null && isSaid(truth)) pairs.push([score, truth]);
    }
  };
  let batch: RecordKey[] = [];
  for await (const key of deps.stream.keys({
    run,
    kinds,
    filter: { and: [] },
    findColumn: columnFinder([]),
    finishedSessionsOnly: false,
  })) {
    batch.push(key);
    if (batch.length < BATCH) continue;
    await look(batch);
    batch = [];
  }
  if (batch.length > 0) await look(batch);
  return { ...healthScore(outputType, pairs), scoredRows, rowsWithTruth };
}

const isSaid = (truth: string | null | undefined): truth is string => typeof truth === 'string' && truth.trim() !== '';

function kindsOf({ definition }: HealthQuestion['scorer']): readonly RecordKind[] {
  const named = recordKinds.filter((kind) => definition.scoreable_node_types?.includes(kind));
  return named.length > 0 ? named : recordKinds;
}
