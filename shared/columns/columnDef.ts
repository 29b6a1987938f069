import type { MetricScale } from '../wire/metricScale.ts';
import type { RecordKind } from '../wire/recordKinds.ts';
import type { ScorerConfig } from '../wire/scorers.ts';
import type { UsageMetric } from './systemMetrics.ts';

export type ColumnDataType = 'text' | 'timestamp' | 'string_list' | 'integer' | 'uuid' | 'boolean' | 'floating_point';
export type FilterType = 'text' | 'date' | 'collection' | 'number' | 'id' | 'boolean';

/** The filter leaf that fits a column. */
export const filterTypeOf = {
  text: 'text',
  timestamp: 'date',
  string_list: 'collection',
  integer: 'number',
  floating_point: 'number',
  uuid: 'id',
  boolean: 'boolean',
} as const satisfies Record<ColumnDataType, FilterType>;

/** How the record table keeps a value. */
export interface StoredForm {
  /** ClickHouse type, with the codec and the default of its column. */
  sqlType: string;
  /**
   * - `json`: as JSON text.
   * - `text or json`: a text as it is, any other value as JSON text; a second column, `<name>_is_json`, says which.
   * - `metrics`: each number with a name in a column of its own, the others as JSON text (see `systemMetrics.ts`).
   */
  as?: 'json' | 'text or json' | 'metrics';
  /** Its texts may be long, so they are read only where they are asked for. */
  isLong?: true;
}

/**
 * Where a column's value is found.
 * - `record`: a column of the record table (of the same name, unless `name` says another), of this ClickHouse type.
 * - `trace`: a column of the record's trace (the record itself, when it is one); one that is not stored counts as `absent`.
 * - `usage`: a number of model calls. A span has its own, a trace or session the sum over the llm spans below it.
 * - `children`: true when a record names this one as its parent.
 * - `metric`: the newest value of this metric in the score table.
 * - `map`: one key of a map column of the record table.
 */
export type ColumnSource =
  | ({ at: 'record'; name?: string } & StoredForm)
  | { at: 'trace'; column: string; absent: boolean }
  | { at: 'usage'; name: UsageMetric }
  | { at: 'children' }
  | { at: 'metric'; metric: string }
  | { at: 'map'; column: 'user_metadata' | 'dataset_metadata'; key: string };

export interface ColumnDef {
  id: string;
  label: string;
  description: string;
  category: 'standard' | 'dataset' | 'metric' | 'user_metadata' | 'dataset_metadata';
  groupLabel: string;
  dataType: ColumnDataType;
  /** How a metric's value is shown; a `percentage` is stored as a fraction in [0, 1]. */
  dataUnit?: 'percentage' | 'nano_seconds' | 'milli_seconds' | 'dollars' | 'count_and_total';
  kinds: readonly RecordKind[];
  source: ColumnSource;
  sortable: boolean;
  filterable: boolean;
  optional: boolean;
  multiValued?: boolean;
  allowedValues?: readonly string[];
  rollUpMethod?: string;
  /** Scale of a metric that somebody has described. */
  scale?: MetricScale;
  threshold?: { inverted: boolean; buckets: readonly number[]; displayValueLevels: readonly string[] };
  /** A metric's readable name, where the id holds a scorer's id. */
  metricKeyAlias?: string;
  scorerId?: string;
  /** How the run uses the scorer. */
  scorerConfig?: ScorerConfig;
  isEmpty?: boolean;
}

/** A column of a table. */
export interface StoredColumn {
  name: string;
  /** The name that former releases gave it. */
  formerName?: string;
  sqlType: string;
}
