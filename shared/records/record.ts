import type { RecordKind } from '../columns/columnDef.ts';

/**
 * A record as the store keeps it. Its fields carry the ids of the column registry (the names of the wire): the registry, not this type, says
 * what each one means. Inputs and outputs are values of the wire: a string, or what is stored as JSON text.
 */
export interface StoredRecord {
  project_id: string;
  run_id: string;
  id: string;
  type: RecordKind;
  /** Canonical time (see wire/time.ts). */
  created_at: string;
  /** The highest version of an id counts. */
  version: number;
  /** The record's own id for a session, and for a trace without one. */
  session_id: string;
  /** Own id for a trace; null for a session. */
  trace_id: string | null;
  parent_id?: string | null;
  updated_at?: string | null;
  input?: unknown;
  output?: unknown;
  redacted_input?: unknown;
  redacted_output?: unknown;
  name?: string;
  tags?: readonly string[];
  status_code?: number | null;
  external_id?: string | null;
  dataset_input?: string | null;
  dataset_output?: string | null;
  user_metadata?: Readonly<Record<string, string>>;
  dataset_metadata?: Readonly<Record<string, string>>;
  /** The `metrics` object of the wire: numbers with columns of their own and any other key. */
  metrics?: Readonly<Record<string, unknown>>;
  progress_message?: string;
  error_message?: string;
  step_number?: number | null;
  agent_type?: string | null;
  agent_name?: string | null;
  tools?: unknown;
  events?: unknown;
  model?: string | null;
  temperature?: number | null;
  finish_reason?: string | null;
  tool_call_id?: string | null;
  control_id?: number | null;
  check_stage?: string | null;
  applies_to?: string | null;
  evaluator_name?: string | null;
  selector_path?: string | null;
  file_ids?: readonly string[];
  file_modalities?: readonly string[];
  previous_session_id?: string | null;
  metrics_batch_id?: string | null;
  session_batch_id?: string | null;
  /** Of a trace: false while more spans will follow. */
  trace_is_complete?: boolean;
  /** Of an experiment's row: the attempt that wrote it. */
  attempt?: number;
  /** What updates have set: `input`, `output`, `status_code`, `duration_ns`, `metrics/<name>`. */
  updated_fields?: readonly string[];
}
