import type { RecordField } from '../columns/recordField.ts';
import { recordFields, storedFields } from '../columns/recordFields.ts';
import { templateOf } from '../json/templateOf.ts';
import type { ExtendedRecord, PartialRecord } from '../recordSchemas/storedRecords.ts';
import { noAnnotations } from '../wire/annotationRatings.ts';
import { isObject } from '../wire/isObject.ts';
import { readableMetricValue } from '../wire/metricResults.ts';
import { type RecordKind, recordKinds } from '../wire/recordKinds.ts';
import type { FileMetadata } from '../wire/recordParts.ts';
import { systemMetricNames } from '../wire/systemCounts.ts';
import { shownMetrics } from './loggedScores.ts';
import type { FoundRecord, PageView, StoredMetric } from './searchRecords.ts';

/** With `truncate_fields` a text longer than this is cut to it, and ends with an ellipsis. */
export const TRUNCATED_LENGTH = 1000;

/** The interface has no null here; the key is left out. */
const outputIsNeverNull: ReadonlySet<RecordKind> = new Set(['llm', 'retriever']);

interface Shape {
  /** The fields of a whole record that has no values. */
  blank: Readonly<Record<string, unknown>>;
  /** Every field that is taken from the record. */
  names: ReadonlySet<string>;
}

const isShownFor = (field: RecordField, kind: RecordKind): boolean => kind in field.answered;
const blankOf = (fields: readonly RecordField[]) => Object.fromEntries(fields.map(({ id, blank }) => [id, blank]));

const shapes: ReadonlyMap<RecordKind, Shape> = new Map(
  recordKinds.map((kind) => {
    const fields = blankOf(storedFields.filter((field) => isShownFor(field, kind)));
    const names = new Set(Object.keys(fields));
    if (outputIsNeverNull.has(kind)) delete fields.output;
    return [
      kind,
      { blank: templateOf({ ...fields, ...noAnnotations(), files: null, has_children: null, metric_info: {} }), names },
    ];
  }),
);
const shapeOf = (kind: RecordKind): Shape => shapes.get(kind) as Shape;

/** Every partial record carries these fields, selected or not. */
const alwaysShown = recordFields.filter(({ always }) => always).map(({ id }) => id);

/** Every key that a record of some kind may show and the record store has. */
export const shownFields: ReadonlySet<string> = new Set([
  ...[...shapes.values()].flatMap(({ names }) => [...names]),
  ...['metric_info', 'files', 'num_spans', 'num_traces'],
]);

/** A whole record as search answers it: every key of its kind. */
export function toExtendedRecord(found: FoundRecord, view: PageView): ExtendedRecord {
  const { blank, names } = shapeOf(found.record.type);
  const record = found.record as unknown as Record<string, unknown>;
  const fields: Record<string, unknown> = { ...blank };
  for (const name of names) {
    const value = record[name];
    if (value !== undefined && value !== null) fields[name] = value;
  }
  if (found.annotations) Object.assign(fields, found.annotations);
  fields.has_children = found.hasChildren;
  if (found.metrics.length > 0) fields.metric_info = metricInfo(found.metrics, view);
  fields.files = filesById(found);
  return finish(found, view, fields) as ExtendedRecord;
}

/** The selected columns of a record and what the service adds to every one. */
export function toPartialRecord(found: FoundRecord, view: PageView, selected: readonly string[]): PartialRecord {
  const { record } = found;
  const fields: Record<string, unknown> = {};
  const { names, blank } = shapeOf(record.type);
  for (const name of [...alwaysShown, ...selected]) {
    if (names.has(name)) fields[name] = (record as unknown as Record<string, unknown>)[name] ?? blank[name] ?? null;
  }
  if (fields.output === null && outputIsNeverNull.has(record.type)) delete fields.output;
  if (selected.includes('has_children')) fields.has_children = found.hasChildren;
  if (selected.includes('files')) fields.files = filesById(found);
  // Outside queues a partial record has the empty maps alone.
  const { overall_annotation_agreement: _, fully_annotated: __, ...maps } = noAnnotations();
  const shown = { ...fields, ...(found.annotations ?? maps) };
  return finish(
    found,
    view,
    found.metrics.length > 0 ? { ...shown, metric_info: metricInfo(found.metrics, view) } : shown,
  ) as PartialRecord;
}

/** The uploaded files that the record names. */
const filesIn = ({ record, files }: FoundRecord): FileMetadata[] => (record.file_ids ?? []).flatMap((id) => files.get(id) ?? []);

function filesById(found: FoundRecord): Record<string, FileMetadata> | null {
  const files = filesIn(found);
  return files.length === 0 ? null : Object.fromEntries(files.map((file) => [file.file_id, file]));
}

/** Adds to `whole` what the service knows beside the record's own fields. */
function finish(found: FoundRecord, view: PageView, whole: Record<string, unknown>): unknown {
  const { record, isComplete, metrics, childCount } = found;
  const scores = metrics.flatMap(({ metric, result }) =>
    'value' in result && !systemMetricNames.has(metric) ? [[metric, result.value] as const] : [],
  );
  const logged = shownMetrics(record.metrics ?? {});
  whole.metrics = scores.length === 0 ? logged : { ...logged, ...Object.fromEntries(scores) };
  const files = filesIn(found);
  if (files.length > 0) whole.file_modalities = [...new Set(files.map(({ modality }) => modality))];
  if (isComplete !== null) whole.is_complete = isComplete;
  if (record.type === 'trace' && childCount !== null) whole.num_spans = childCount;
  if (record.type === 'session' && childCount !== null) whole.num_traces = childCount;
  if (record.type === 'agent' && 'agent_type' in whole) whole.agent_type ??= 'default';
  // The interface has no string here.
  if (record.type === 'llm' && whole.input === '') whole.input = [];
  return view.truncate ? shortened(whole) : whole;
}

/** By the keys of the values; what a built-in scorer computed is there by the scorer's id, too, where clients of the interface look. */
function metricInfo(metrics: readonly StoredMetric[], view: PageView): Record<string, unknown> {
  return Object.fromEntries(
    metrics.flatMap(({ metric, result, metadata, scorerId }): [string, object][] => {
      const readable = 'value' in result ? { ...result, value: readableMetricValue(result.value) } : result;
      const shown =
        view.includeMetricMetadata && result.status_type === 'success' && metadata ? { ...readable, metadata } : readable;
      const byName: [string, object] = [metric, shown];
      return scorerId === undefined || scorerId === metric
        ? [byName]
        : [[scorerId, { ...shown, metric_key_alias: metric }], byName];
    }),
  );
}

/** The value with every text cut that is longer than {@link TRUNCATED_LENGTH}. */
export function shortened(value: unknown): unknown {
  if (typeof value === 'string')
    return value.length > TRUNCATED_LENGTH ? `${value.slice(0, TRUNCATED_LENGTH).toWellFormed()}…` : value;
  if (Array.isArray(value)) return value.map(shortened);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shortened(inner)]));
}
