import type { RecordKind } from '../wire/recordKinds.ts';
import type { ScorerDefinition } from './scorer.ts';

type InputType = NonNullable<ScorerDefinition['input_type']>;

const kindOf: Record<InputType, RecordKind> = {
  basic: 'trace',
  trace_input_only: 'trace',
  trace_io_only: 'trace',
  trace_normalized: 'trace',
  trace_output_only: 'trace',
  sessions_normalized: 'session',
  sessions_trace_io_only: 'session',
  llm_spans: 'llm',
  retriever_spans: 'retriever',
  tool_spans: 'tool',
  agent_spans: 'agent',
  workflow_spans: 'workflow',
};

/**
 * Returns the kinds of records that a judge's template fits, where no setting names them: those of its input type, else traces. A trace has everything
 * that a template can ask for, and an experiment is scored by its traces.
 */
export const fittingKinds = (inputType: InputType | null | undefined): RecordKind[] => [inputType ? kindOf[inputType] : 'trace'];
