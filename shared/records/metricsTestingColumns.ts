import type { ColumnDef } from '../columns/columnDef.ts';
import { REGISTERED_SCORER } from '../wire/metricsTesting.ts';
import type { OutputType, RollUpMethod } from '../wire/scorers.ts';
import { explanationOf } from './findColumn.ts';

/** A scorer that a composite metric builds on. Without `column` nothing but its name is known. */
export interface NamedScorer {
  name: string;
  column?: ColumnDef | undefined;
  /** True when a judge gives its values, and with them a chain of thought. */
  judged: boolean;
}

export interface TestedMetric {
  name: string;
  /** The metric's values stand under this name while it is tested. */
  metricKey: string;
  outputType: OutputType | null;
  /** The type that a registered scorer's code returns. */
  scoreType: string | null;
  withChainOfThought: boolean;
  requiredScorers: readonly NamedScorer[];
}

type Form = Pick<ColumnDef, 'dataType' | 'dataUnit'> & { multiValued?: boolean; filterable?: false; rollUp: RollUpMethod };

const forms: Readonly<Record<OutputType, Form>> = {
  boolean: { dataType: 'boolean', rollUp: 'percentage_true' },
  categorical: { dataType: 'text', rollUp: 'category_count' },
  count: { dataType: 'integer', rollUp: 'average' },
  discrete: { dataType: 'integer', rollUp: 'average' },
  freeform: { dataType: 'text', rollUp: 'category_count' },
  percentage: { dataType: 'floating_point', dataUnit: 'percentage', rollUp: 'average' },
  multilabel: { dataType: 'string_list', multiValued: true, rollUp: 'category_count' },
  // One boolean for each chunk that was retrieved: no filter is about several of them.
  retrieved_chunk_list_boolean: { dataType: 'boolean', multiValued: true, filterable: false, rollUp: 'percentage_true' },
  // The labels that hold.
  boolean_multilabel: { dataType: 'string_list', multiValued: true, rollUp: 'category_count' },
};

const scoreTypes: Readonly<Record<string, Form>> = {
  bool: { dataType: 'boolean', rollUp: 'percentage_true' },
  int: { dataType: 'integer', rollUp: 'average' },
  float: { dataType: 'floating_point', rollUp: 'average' },
  str: { dataType: 'text', rollUp: 'category_count' },
};

/** The columns that testing a metric adds to a catalog: its values, its chain of thought, and one for each scorer that it builds on. */
export function metricsTestingColumns(tested: TestedMetric): ColumnDef[] {
  const own = metricColumnOf(tested.metricKey, tested.name, `Values of ${tested.name}, the metric under test.`, formOf(tested));
  const scorers = tested.requiredScorers.map(({ name, column, judged }) => ({
    column: column ?? metricColumnOf(name, name, `Values of the scorer ${name}.`, forms.freeform),
    judged,
  }));
  return [{ column: own, judged: true }, ...scorers].flatMap(({ column, judged }) =>
    judged && tested.withChainOfThought ? [column, explanationColumn(column)] : [column],
  );
}

/** A registered scorer's code says most exactly what it returns; how many values, and in which unit, its output type. */
function formOf({ metricKey, outputType, scoreType }: TestedMetric): Form {
  const form = forms[outputType ?? 'boolean'];
  const returned = metricKey === REGISTERED_SCORER && scoreType !== null ? scoreTypes[scoreType] : undefined;
  if (!returned || form.multiValued || returned.dataType === form.dataType) return form;
  return returned;
}

function metricColumnOf(metric: string, label: string, description: string, form: Form): ColumnDef {
  const { dataType, dataUnit, multiValued, filterable = true, rollUp } = form;
  return {
    id: `metrics/${metric}`,
    label,
    description,
    category: 'metric',
    groupLabel: 'Metrics Testing',
    dataType,
    ...(dataUnit === undefined ? {} : { dataUnit }),
    kinds: [],
    source: { at: 'metric', metric },
    sortable: !multiValued,
    filterable,
    optional: false,
    ...(multiValued ? { multiValued } : {}),
    rollUpMethod: rollUp,
  };
}

/** It is read with the value it explains, so it is shown and neither filtered nor sorted. */
export function explanationColumn({ id, label, source }: ColumnDef): ColumnDef {
  return {
    id: explanationOf(id),
    label: `${label} Explanation`,
    description: `Chain of thought behind each value of ${label}.`,
    category: 'metric',
    groupLabel: 'Metrics Testing',
    dataType: 'text',
    kinds: [],
    source,
    sortable: false,
    filterable: false,
    optional: true,
  };
}
