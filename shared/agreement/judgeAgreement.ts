import type { AnnotationSource } from '../annotations/createAnnotationReads.ts';
import type { RatingValue } from '../annotations/summarize.ts';
import type { ColumnDef } from '../columns/columnDef.ts';
import { freeTurn } from '../concurrency/freeTurn.ts';
import type { Metric } from '../metrics/metric.ts';
import type { NamedTemplate } from '../records/annotationReads.ts';
import type { ExportReads } from '../records/exportRecords.ts';
import { metricOfColumn } from '../records/findColumn.ts';
import type { RecordKey, RecordQuery, RecordReads } from '../records/searchRecords.ts';
import { Uuid } from '../wire/common.ts';
import { GENERATED_SCORER } from '../wire/metricsTesting.ts';
import { type RecordKind, recordKinds } from '../wire/recordKinds.ts';
import { compareSides, type SidesCompared, type TwoSides } from './compareSides.ts';
import { type JudgedScale, type SharedLabels, sharedLabels, type Thresholds } from './sharedLabels.ts';

export interface JudgeAgreementDeps {
  stream: Pick<ExportReads, 'keys'>;
  records: Pick<RecordReads, 'records' | 'metricResults'>;
  annotations: Pick<AnnotationSource, 'annotationsOf' | 'templatesOfRun'>;
  /** The judge that a metrics-testing run tries out; undefined of one that was filled otherwise. */
  triedJudge(runId: string): Promise<Pick<Metric, 'dataType' | 'range'> | undefined>;
}

export interface AgreementQuestion {
  query: Omit<RecordQuery, 'kinds'>;
  /** Absent: records of all kinds. */
  kinds?: readonly RecordKind[] | undefined;
  /** The column of the judge's values. */
  column: ColumnDef;
  templateIds: readonly string[] | null;
  queueId: string | null;
  thresholds: Thresholds;
}

export interface TemplateAgreement {
  template: NamedTemplate;
  shared: SharedLabels | undefined;
  compared: SidesCompared;
  /** The record that has the value, by the one that people rated, where they are not the same. */
  judgedRecords: ReadonlyMap<string, string>;
}

export interface JudgeAgreement {
  records: number;
  isCut: boolean;
  withValue: number;
  agreements: TemplateAgreement[];
}

/** Records looked at: as many as a queue can hold. */
export const MOST_RECORDS = 100_000;
const BATCH = 1_000;

const dataTypes: Partial<Record<ColumnDef['dataType'], JudgedScale['dataType']>> = {
  boolean: 'boolean',
  integer: 'number',
  floating_point: 'number',
  string_list: 'list',
};

/**
 * How far the values of a judge agree with what people say of the same records, by each annotation template. A sample of a try-out has the ratings of
 * the record that it was made of.
 */
export async function judgeAgreement(deps: JudgeAgreementDeps, question: AgreementQuestion): Promise<JudgeAgreement> {
  const { query, column, thresholds } = question;
  const { projectId, runId } = query.run;
  const metric = metricOfColumn(column.id);
  const templates = new Map((await deps.annotations.templatesOfRun(query.run)).map((one) => [one.id, one]));
  const runsSeen = new Set([runId]);
  const values = new Map<string, unknown>();
  const judgedRecords = new Map<string, string>();
  const ratings = new Map<string, Map<string, RatingValue[]>>();
  const rated: string[] = [];

  const rate = async (ofRun: string, recordIds: readonly string[]): Promise<void> => {
    if (!runsSeen.has(ofRun)) {
      runsSeen.add(ofRun);
      for (const one of await deps.annotations.templatesOfRun({ projectId, runId: ofRun })) templates.set(one.id, one);
    }
    for (const { templateId, recordId, value } of (await deps.annotations.annotationsOf({ projectId, runId: ofRun }, recordIds))
      .ratings) {
      const byRecord = ratings.get(templateId) ?? new Map<string, RatingValue[]>();
      ratings.set(templateId, byRecord);
      byRecord.set(recordId, [...(byRecord.get(recordId) ?? []), value]);
    }
  };
  const look = async (keys: readonly RecordKey[]): Promise<void> => {
    const [results, sources] = await Promise.all([
      deps.records.metricResults(query.run, keys, [metric]),
      query.run.kind === 'metrics_testing' ? sourcesOf(deps, question, keys) : new Map<string, Source>(),
    ]);
    for (const { id } of keys) {
      const ratedId = sources.get(id)?.recordId ?? id;
      rated.push(ratedId);
      if (ratedId !== id) judgedRecords.set(ratedId, id);
      const found = results.get(id)?.find((one) => one.metric === metric)?.result;
      if (found?.status_type === 'success' && found.value !== null) values.set(ratedId, found.value);
    }
    const byRun = Map.groupBy(keys, ({ id }) => sources.get(id)?.runId ?? runId);
    for (const [ofRun, some] of byRun)
      await rate(
        ofRun,
        some.map(({ id }) => sources.get(id)?.recordId ?? id),
      );
  };

  let batch: RecordKey[] = [];
  let records = 0;
  let isCut = false;
  for await (const key of deps.stream.keys({ ...query, kinds: question.kinds ?? recordKinds, finishedSessionsOnly: false })) {
    if (records === MOST_RECORDS) {
      isCut = true;
      break;
    }
    records++;
    batch.push(key);
    if (batch.length < BATCH) continue;
    await look(batch);
    batch = [];
  }
  if (batch.length > 0) await look(batch);

  const tried = metric === GENERATED_SCORER ? await deps.triedJudge(runId) : undefined;
  const { dataType } = tried ?? column;
  const scale: JudgedScale = { dataType: dataTypes[dataType] ?? 'text', range: (tried ?? column.scale)?.range ?? null };
  const asked = [...templates.values()].filter(
    ({ id, queueId }) =>
      (question.templateIds?.includes(id) ?? true) && (question.queueId === null || question.queueId === queueId),
  );
  const agreements: TemplateAgreement[] = [];
  for (const template of asked) {
    // Each goes through all records.
    await freeTurn();
    const shared = sharedLabels(scale, template.constraints, thresholds);
    const given = ratings.get(template.id) ?? new Map<string, RatingValue[]>();
    const sides = rated.map(
      (recordId): TwoSides => ({ recordId, judge: values.get(recordId), people: given.get(recordId) ?? [] }),
    );
    if ('problem' in shared) {
      const compared = { ...compareSides(nothingShared, sides), unreadable: 0, reason: shared.problem };
      agreements.push({ template, shared: undefined, compared, judgedRecords });
    } else agreements.push({ template, shared, compared: compareSides(shared, sides), judgedRecords });
  }
  return { records, isCut, withValue: values.size, agreements };
}

const nothingShared: SharedLabels = {
  rule: '',
  thresholds: { judge: null, people: null },
  isOrdered: false,
  labels: [],
  ofJudge: () => undefined,
  ofPeople: () => undefined,
};

interface Source {
  runId: string;
  recordId: string;
}

/** The records that samples of a try-out were made of. */
async function sourcesOf({ records }: JudgeAgreementDeps, { query }: AgreementQuestion, keys: readonly RecordKey[]) {
  const found = await records.records(query.run, keys, ['external_id', 'user_metadata']);
  return new Map(
    found.flatMap(({ id, external_id, user_metadata }): [string, Source][] => {
      const runId = Uuid.safeParse(user_metadata?.sample_run_id).data;
      const recordId = Uuid.safeParse(external_id).data;
      return runId !== undefined && recordId !== undefined ? [[id, { runId, recordId }]] : [];
    }),
  );
}
