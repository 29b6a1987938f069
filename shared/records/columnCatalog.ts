import { type ColumnDef, filterTypeOf } from '../columns/columnDef.ts';
import { datasetColumns } from '../columns/dataset.ts';
import { standardColumns } from '../columns/standard.ts';
import { systemMetricColumns } from '../columns/systemMetrics.ts';
import { eachInTurns } from '../concurrency/eachInTurns.ts';
import { Uuid } from '../wire/common.ts';
import type { Filter } from '../wire/filters.ts';
import type { LogRecordsColumnInfo } from '../wire/recordSearch.ts';
import { annotationColumns } from './annotationColumns.ts';
import { columnFinder, explainedBy, type FindColumn, isMetricColumn, metricOfColumn } from './findColumn.ts';
import { explanationColumn } from './metricsTestingColumns.ts';
import type { RecordReads, RecordRun, TimeRange } from './searchRecords.ts';

export interface MetricDefinitions {
  /** The built-in metrics' columns. */
  builtIn: readonly ColumnDef[];
  /** Columns that every catalog lists, values or not. */
  alwaysListed: readonly ColumnDef[];
  /** Columns of the metrics that the run's users defined or enabled, by what is known of them. */
  ofRun(run: RecordRun): Promise<readonly ColumnDef[]>;
  /** Columns of metrics that users defined with these scorers, which the run may compute no longer. */
  ofScorers(scorerIds: readonly string[]): Promise<readonly ColumnDef[]>;
}

type MetricReads = Pick<RecordReads, 'metricsWithValues' | 'booleanMetrics'>;

/** The columns of a run that are no metrics: the standard ones, then, in an experiment, what says which row a trace ran. */
export const plainColumns = (run: RecordRun): readonly ColumnDef[] =>
  run.kind === 'experiment' ? [...standardColumns, ...datasetColumns] : standardColumns;

/** The columns of a run's catalog: the plain ones, those always listed, the run's metrics, and every metric that has a value. */
export async function availableColumns(
  reads: MetricReads,
  definitions: MetricDefinitions,
  run: RecordRun,
  range: TimeRange,
): Promise<ColumnDef[]> {
  const [ofRun, valued] = await Promise.all([definitions.ofRun(run), reads.metricsWithValues(run, range)]);
  const known = new Map([...definitions.builtIn, ...ofRun, ...systemMetricColumns].map((column) => [column.id, column]));
  const unknown = await undefinedMetrics(
    reads,
    definitions,
    run,
    valued.filter(({ metric }) => !known.has(`metrics/${metric}`)),
  );
  const metrics = new Map([...definitions.alwaysListed, ...ofRun].map((column) => [column.id, column]));
  await eachInTurns(valued, ({ metric }) => {
    const column = unknown.get(metric) ?? known.get(`metrics/${metric}`);
    if (column) metrics.set(column.id, column);
  });
  return [...plainColumns(run), ...metrics.values()];
}

/** The run's catalog as it is answered: those columns, and what its records hold of annotations. */
export async function describedColumns(
  reads: MetricReads & Pick<RecordReads, 'annotationTemplates'>,
  definitions: MetricDefinitions,
  run: RecordRun,
  range: TimeRange,
): Promise<LogRecordsColumnInfo[]> {
  const [columns, templates] = await Promise.all([
    availableColumns(reads, definitions, run, range),
    reads.annotationTemplates(run),
  ]);
  const described: LogRecordsColumnInfo[] = [];
  await eachInTurns(columns, (column) => described.push(toDescriptor(column)));
  return [...described, ...columns.flatMap(underScorerId).map(toDescriptor), ...annotationColumns(templates)];
}

/** The column again under its scorer's id, where it has another id: clients of the interface look for the metric of a built-in scorer there. */
export function underScorerId(column: ColumnDef): ColumnDef[] {
  const id = `metrics/${column.scorerId}`;
  return column.scorerId === undefined || column.id === id ? [] : [{ ...column, id, metricKeyAlias: metricOfColumn(column.id) }];
}

/**
 * The column lookup for a request; what metrics the run has is read only when the request names one.
 * @param request `takesUnvalued`: metrics that have no value yet are columns, too
 */
export async function findColumnFor(
  reads: MetricReads,
  definitions: MetricDefinitions,
  run: RecordRun,
  request: { filter: Filter; alsoNamed?: readonly string[]; takesUnvalued?: boolean },
): Promise<FindColumn> {
  const named = [...columnsOf(request.filter), ...(request.alsoNamed ?? [])].filter(isMetricColumn);
  const plain = columnFinder(definitions.builtIn);
  if (named.every((id) => plain.knows(id))) return plain;
  const [ofRun, valued] = await Promise.all([definitions.ofRun(run), reads.metricsWithValues(run, {})]);
  const asked = new Set(named.flatMap((id) => [id, explainedBy(id) ?? []].flat()));
  const wanted = valued.filter(({ metric }) => asked.has(`metrics/${metric}`));
  const described = [...ofRun, ...definitions.builtIn];
  const known = columnFinder([...wanted.map(undefinedMetric), ...described]);
  // A name may be that of a scorer whose metric the run computes no longer.
  const former = named.every((id) => known.knows(id)) ? [] : await formerMetrics(definitions, valued, described);
  const columns = [...(await undefinedMetrics(reads, definitions, run, wanted)).values(), ...described, ...former];
  const find = columnFinder(columns);
  const others = named.flatMap((id): ColumnDef[] => {
    if (find.knows(id)) return [];
    const explained = explainedBy(id);
    if (explained !== undefined && find.knows(explained))
      return [{ ...explanationColumn(find(explained)), metricKeyAlias: metricOfColumn(id) }];
    if (!request.takesUnvalued) return [];
    return [undefinedMetric({ metric: metricOfColumn(id), dataType: askedAs(request.filter, id) ?? 'floating_point' })];
  });
  return others.length > 0 ? columnFinder([...columns, ...others]) : find;
}

/**
 * The metrics that a selection names, by the keys of their values; one that a user named is there by its name and by its scorer's id. A metric needs
 * no value to be selected.
 * @throws ServiceError `ColumnUnknown` when the scorers of several metrics have the name
 */
export async function selectedMetrics(
  { builtIn, ofRun }: Pick<MetricDefinitions, 'builtIn' | 'ofRun'>,
  runs: readonly RecordRun[],
  names: readonly string[],
): Promise<string[]> {
  const plain = columnFinder(builtIn);
  const keys = names.map((name) => (plain.knows(`metrics/${name}`) ? metricOfColumn(plain(`metrics/${name}`).id) : name));
  const others = keys.filter((name) => !isUuid(name) && !plain.knows(`metrics/${name}`));
  if (others.length === 0) return keys;
  const columns = new Map((await Promise.all(runs.map(ofRun))).flat().map((column) => [column.id, column]));
  const aliases = new Set([...columns.values()].map(({ metricKeyAlias }) => metricKeyAlias));
  const find = columnFinder([...columns.values()]);
  const ids = others.filter((name) => aliases.has(name)).map((name) => metricOfColumn(find(`metrics/${name}`).id));
  return [...new Set([...keys, ...ids])];
}

const isUuid = (text: string): boolean => Uuid.safeParse(text).success;

const askedTypes: Readonly<Record<string, ColumnDef['dataType']>> = {
  text: 'text',
  boolean: 'boolean',
  number: 'floating_point',
  collection: 'string_list',
};

/** Returns the type that a filter expects of a column; undefined when it does not name the column. */
function askedAs(filter: Filter, id: string): ColumnDef['dataType'] | undefined {
  if ('filter' in filter) return filter.filter.column_id === id ? askedTypes[filter.filter.type] : undefined;
  const below = 'and' in filter ? filter.and : 'or' in filter ? filter.or : [filter.not];
  for (const one of below) {
    const type = askedAs(one, id);
    if (type) return type;
  }
  return undefined;
}

type ValuedMetric = Awaited<ReturnType<RecordReads['metricsWithValues']>>[number];

/** Columns of metrics of which only the values are known. Booleans are stored as numbers, so the values say which of the two they are. */
async function undefinedMetrics(
  reads: MetricReads,
  definitions: MetricDefinitions,
  run: RecordRun,
  valued: readonly ValuedMetric[],
): Promise<Map<string, ColumnDef>> {
  const former = await formerMetrics(definitions, valued, []);
  const numbers = valued.filter(({ dataType }) => dataType === 'floating_point').map(({ metric }) => metric);
  const booleans = numbers.length > 0 ? await reads.booleanMetrics(run, numbers) : new Set<string>();
  const columns = new Map<string, ColumnDef>();
  await eachInTurns(valued, ({ metric, dataType }) => {
    columns.set(metric, undefinedMetric({ metric, dataType: booleans.has(metric) ? 'boolean' : dataType }));
  });
  for (const column of former) columns.set(metricOfColumn(column.id), column);
  return columns;
}

/** Columns of those metrics that scorers compute which the run has switched off, or which are deleted. */
async function formerMetrics(
  { ofScorers }: MetricDefinitions,
  valued: readonly ValuedMetric[],
  described: readonly ColumnDef[],
): Promise<readonly ColumnDef[]> {
  const known = new Set(described.map(({ id }) => id));
  const ids = valued.flatMap(({ metric }) => (isUuid(metric) && !known.has(`metrics/${metric}`) ? [metric] : []));
  return ids.length > 0 ? ofScorers(ids) : [];
}

/** A metric of which only the values are known, such as one that a client computed itself. */
export function undefinedMetric({ metric, dataType }: { metric: string; dataType: ColumnDef['dataType'] }): ColumnDef {
  const isList = dataType === 'string_list';
  return {
    id: `metrics/${metric}`,
    label: metric,
    description: `Values of the metric ${metric}.`,
    category: 'metric',
    groupLabel: 'Metrics',
    dataType,
    kinds: [],
    source: { at: 'metric', metric },
    sortable: !isList,
    filterable: true,
    optional: false,
    ...(isList ? { multiValued: true } : {}),
  };
}

/** The columns that a filter looks at. */
export function columnsOf(filter: Filter): string[] {
  if ('and' in filter) return filter.and.flatMap(columnsOf);
  if ('or' in filter) return filter.or.flatMap(columnsOf);
  if ('not' in filter) return columnsOf(filter.not);
  return [filter.filter.column_id];
}

/** A column as the catalogs show it. */
export function toDescriptor(column: ColumnDef): LogRecordsColumnInfo {
  return {
    id: column.id,
    label: column.label,
    description: column.description,
    category: column.category,
    group_label: column.groupLabel,
    data_type: column.dataType,
    ...(column.dataUnit === undefined ? {} : { data_unit: column.dataUnit }),
    filter_type: filterTypeOf[column.dataType],
    filterable: column.filterable,
    sortable: column.sortable,
    multi_valued: column.multiValued ?? false,
    is_empty: column.isEmpty ?? false,
    is_optional: column.optional,
    applicable_types: [...column.kinds],
    ...(column.allowedValues === undefined ? {} : { allowed_values: [...column.allowedValues] }),
    ...(column.rollUpMethod === undefined ? {} : { roll_up_method: column.rollUpMethod }),
    ...(column.metricKeyAlias === undefined ? {} : { metric_key_alias: column.metricKeyAlias }),
    ...(column.scorerId === undefined ? {} : { scorer_id: column.scorerId }),
    ...(column.scorerConfig === undefined ? {} : { scorer_config: column.scorerConfig }),
    ...column.scale,
    ...(column.threshold === undefined
      ? {}
      : {
          threshold: {
            inverted: column.threshold.inverted,
            buckets: [...column.threshold.buckets],
            display_value_levels: [...column.threshold.displayValueLevels],
          },
        }),
  };
}
