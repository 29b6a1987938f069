import type { ColumnDef } from '../../shared/columns/columnDef.ts';
import { datasetColumns } from '../../shared/columns/dataset.ts';
import { standardColumns } from '../../shared/columns/standard.ts';
import { systemMetricColumns } from '../../shared/columns/systemMetrics.ts';
import {
  annotationColumns,
  feedbackColumn,
  feedbackColumns,
  isAnnotationColumn,
  isFeedbackColumn,
} from '../../shared/records/annotationColumns.ts';
import type { NamedTemplate } from '../../shared/records/annotationReads.ts';
import { availableColumns, plainColumns } from '../../shared/records/columnCatalog.ts';
import type { ExportedColumn, ExportQuery, ExportReads } from '../../shared/records/exportRecords.ts';
import { isMetricColumn } from '../../shared/records/findColumn.ts';
import { shownFields } from '../../shared/records/recordView.ts';
import type { RecordSearchDeps } from './recordQuery.ts';

export interface ExportSearchDeps extends RecordSearchDeps {
  stream: ExportReads;
}

/** Maps that a column id may name whole; single keys of theirs are columns of their own. */
const wholeMaps: readonly ColumnDef[] = ['user_metadata', 'dataset_metadata'].map(asText);

function asText(id: string): ColumnDef {
  return {
    id,
    label: id,
    description: 'JSON text.',
    category: 'standard',
    groupLabel: 'Standard',
    dataType: 'text',
    kinds: [],
    source: { at: 'record', sqlType: 'String' },
    sortable: false,
    filterable: false,
    optional: false,
  };
}

/**
 * The columns of these ids, each headed as it was asked for.
 * @param templatesOf templates by which the records are rated; read where a column names one
 * @throws ServiceError `ColumnUnknown`
 */
export async function knownColumns(
  columnIds: readonly string[],
  { findColumn }: Pick<ExportQuery, 'findColumn'>,
  templatesOf: () => Promise<readonly NamedTemplate[]>,
): Promise<ExportedColumn[]> {
  const templates = columnIds.some(isFeedbackColumn) ? await templatesOf() : [];
  const columnOf = (id: string): ColumnDef => {
    if (isFeedbackColumn(id)) return asText(feedbackColumn(id, templates));
    return isAnnotationColumn(id) || isFieldAlone(id) ? asText(id) : findColumn(id);
  };
  return [...new Set(columnIds)].map((id) => ({ ...columnOf(id), heading: id }));
}

const inCatalogs: ReadonlySet<string> = new Set([...standardColumns, ...datasetColumns].map(({ id }) => id));
/** A field of records that is no column of the catalogs, such as a map as a whole. */
const isFieldAlone = (id: string): boolean => shownFields.has(id) && !inCatalogs.has(id);

/** Every column that applies to the exported kinds, the two maps whole, and every metric with a value. */
export async function allColumns(
  deps: RecordSearchDeps,
  { run, kinds }: Pick<ExportQuery, 'run' | 'kinds'>,
): Promise<ColumnDef[]> {
  const plain = plainColumns(run).filter((column) => column.kinds.some((kind) => (kinds as readonly string[]).includes(kind)));
  const metrics = (await availableColumns(deps.records, deps.metrics, run, {})).filter(({ id }) => isMetricColumn(id));
  const all = [...plain, ...wholeMaps, ...systemMetricColumns, ...metrics];
  return [...new Map(all.map((column) => [column.id, column])).values()];
}

/** Returns the columns of the annotators' ratings of a run's records. */
export const ratedColumns = async (
  { records }: Pick<RecordSearchDeps, 'records'>,
  { run }: Pick<ExportQuery, 'run'>,
): Promise<ColumnDef[]> => annotatedColumns(await records.annotationTemplates(run)).map(asText);

/** Lists the columns of these templates' ratings, the answers themselves included. */
export const annotatedColumns = (templates: readonly NamedTemplate[]): string[] => [
  ...annotationColumns(templates).map(({ id }) => id),
  ...feedbackColumns(templates),
];
