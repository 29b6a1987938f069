import { type ColumnDataType, type ColumnDef, type RecordKind, recordKinds, spanKinds } from './columnDef.ts';

const noSession = recordKinds.filter((kind) => kind !== 'session');

const column = (
  id: string,
  label: string,
  dataType: ColumnDataType,
  kinds: readonly RecordKind[],
  source: ColumnDef['source'],
  description: string,
  rest: Partial<ColumnDef> = {},
): ColumnDef => ({
  id,
  label,
  description,
  category: 'standard',
  groupLabel: 'Standard',
  dataType,
  kinds,
  source,
  sortable: true,
  filterable: true,
  optional: false,
  ...rest,
});

const stored = (sqlType: string): ColumnDef['source'] => ({ at: 'record', sqlType });
const text = stored('String');
const maybeText = stored('Nullable(String)');
const fewTexts = stored('LowCardinality(Nullable(String))');
// LZ4, not ZSTD: a search for text reads every block (1 M records of 1.2 KB: 290 ms against 580 ms on two cores).
const searchedText = stored('String CODEC(LZ4)');
const maybeSearchedText = stored('Nullable(String) CODEC(LZ4)');
const maybeLongText = stored('Nullable(String) CODEC(ZSTD(1))');
const optional = { optional: true };

/** The standard columns in the order of the catalogs. A new filterable column is one entry here and nothing else. */
export const standardColumns: readonly ColumnDef[] = [
  column('input', 'Input', 'text', recordKinds, searchedText, 'Input of the record; messages and parts as JSON text.'),
  column(
    'output',
    'Output',
    'text',
    recordKinds,
    maybeSearchedText,
    'Output of the record; messages, documents and parts as JSON text.',
  ),
  column('name', 'Name', 'text', recordKinds, text, 'Name of the record.'),
  column(
    'created_at',
    'Created At',
    'timestamp',
    recordKinds,
    stored("DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1))"),
    'When the record was made.',
  ),
  column('tags', 'Tags', 'string_list', noSession, stored('Array(LowCardinality(String))'), 'Tags of the record.', {
    sortable: false,
    multiValued: true,
  }),
  column(
    'status_code',
    'Status Code',
    'integer',
    noSession,
    stored('Nullable(Int32)'),
    'Status code of the record; 0 is success.',
    optional,
  ),
  column('external_id', 'External Id', 'text', recordKinds, maybeText, 'Id that the caller chose.', optional),
  column('dataset_input', 'Dataset Input', 'text', noSession, maybeLongText, 'Input of the dataset row behind the record.'),
  column(
    'dataset_output',
    'Dataset Output',
    'text',
    noSession,
    maybeLongText,
    'Reference output of the dataset row behind the record.',
  ),
  column('id', 'Id', 'uuid', recordKinds, stored('UUID'), 'Id of the record.'),
  column(
    'session_id',
    'Session Id',
    'uuid',
    noSession,
    stored('UUID'),
    'Session of the record; a trace without a session carries its own id here.',
  ),
  column('project_id', 'Project Id', 'uuid', noSession, stored('UUID CODEC(ZSTD(1))'), 'Project of the record.'),
  column('run_id', 'Run Id', 'uuid', noSession, stored('UUID CODEC(ZSTD(1))'), 'Log stream or experiment of the record.'),
  column(
    'updated_at',
    'Updated At',
    'timestamp',
    noSession,
    stored("Nullable(DateTime64(6, 'UTC'))"),
    'When the record was last changed.',
    optional,
  ),
  column(
    'has_children',
    'Has Children',
    'boolean',
    noSession,
    { at: 'children' },
    'True when a span hangs below the record.',
    optional,
  ),
  column('progress_message', 'Progress Message', 'text', recordKinds, text, 'What the runner last said about its progress.'),
  column('error_message', 'Error Message', 'text', recordKinds, text, 'What went wrong.'),
  column(
    'is_complete',
    'Is Complete',
    'boolean',
    noSession,
    { at: 'trace', column: 'trace_is_complete', absent: false },
    'True when the trace that the record belongs to is complete.',
  ),
  column('type', 'Type', 'text', spanKinds, stored('LowCardinality(String)'), 'Kind of the record.', {
    allowedValues: ['llm', 'control', 'agent', 'workflow', 'trace', 'retriever', 'session', 'tool'],
  }),
  column('trace_id', 'Trace Id', 'uuid', spanKinds, stored('Nullable(UUID)'), 'Trace of the record.'),
  column('parent_id', 'Parent Id', 'uuid', spanKinds, stored('Nullable(UUID)'), 'Trace or span that the span hangs below.'),
  column(
    'step_number',
    'Step Number',
    'integer',
    spanKinds,
    stored('Nullable(Int32)'),
    'Order of the span in its trace.',
    optional,
  ),
  column('agent_type', 'Agent Type', 'text', ['agent'], fewTexts, 'Kind of agent.', {
    allowedValues: ['react', 'default', 'classifier', 'judge', 'reflection', 'router', 'planner', 'supervisor'],
  }),
  column('agent_name', 'Agent Name', 'text', ['control', 'agent'], maybeText, 'Name of the agent.', optional),
  column('tools', 'Tools', 'text', ['llm'], maybeLongText, 'Tools offered to the model, as JSON text.'),
  column('model', 'Model', 'text', ['llm'], fewTexts, 'Model that was called.', optional),
  column('temperature', 'Temperature', 'floating_point', ['llm'], stored('Nullable(Float64)'), 'Sampling temperature.', optional),
  column('finish_reason', 'Finish Reason', 'text', ['llm'], fewTexts, 'Why the model stopped.', optional),
  column('tool_call_id', 'Tool Call Id', 'text', ['tool'], maybeText, 'Id of the tool call that the span answers.', optional),
  column('control_id', 'Control Id', 'integer', ['control'], stored('Nullable(Int64)'), 'Id of the control.', optional),
  column('check_stage', 'Check Stage', 'text', ['control'], fewTexts, 'Whether the control ran before or after the step.', {
    optional: true,
    allowedValues: ['post', 'pre'],
  }),
  column('applies_to', 'Applies To', 'text', ['control'], fewTexts, 'Kind of call that the control watches.', {
    optional: true,
    allowedValues: ['tool_call', 'llm_call'],
  }),
  column('evaluator_name', 'Evaluator Name', 'text', ['control'], maybeText, 'Evaluator that the control used.', optional),
  column(
    'selector_path',
    'Selector Path',
    'text',
    ['control'],
    maybeText,
    'Part of the step that the control looked at.',
    optional,
  ),
];
