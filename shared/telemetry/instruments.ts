/** One metric of the service. `docs/monitoring.md` lists all of them; a test holds the two equal. */
export interface Instrument {
  /** A gauge and an observed counter are read when somebody asks for the metrics; the others are written to when something happens. */
  kind: 'counter' | 'histogram' | 'gauge' | 'observedCounter';
  /** In the letters of UCUM, as OpenTelemetry writes units. */
  unit:
    | 's'
    | 'By'
    | 'USD'
    | '1'
    | '{request}'
    | '{record}'
    | '{row}'
    | '{token}'
    | '{call}'
    | '{score}'
    | '{statement}'
    | '{task}'
    | '{run}';
  description: string;
  /**
   * Values of each label: all there are, or a sentence that says what bounds them. Never an id, a path, or another text that comes from users, but for the names
   * of integrations:
   * each combination of values is a series that every scrape carries.
   */
  labels: Readonly<Record<string, readonly string[] | string>>;
  /** Upper bounds of a histogram's buckets. */
  buckets?: readonly number[];
}

/** OpenTelemetry's advice for the time of HTTP requests, and longer ones for uploads and exports. */
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60];

/** From a short insert or wait to the time limits of stores and models. */
const SECONDS = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 60, 300];

const INTEGRATION = 'names of integrations, of which administrators make few';

const HTTP_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', '_OTHER'] as const;

const ATTEMPT_OUTCOMES = [
  'ok',
  'rate_limited',
  'http_error',
  'unauthorized',
  'timeout',
  'connection_error',
  'malformed_answer',
  'refused',
  'handler_error',
  'cancelled',
] as const;

/**
 * Every metric of the service, by the name that Prometheus shows. Names and labels of HTTP requests are OpenTelemetry's, those that begin with `process_`
 * are what every Prometheus client gives; the rest is ours.
 */
export const instruments = {
  http_server_request_duration_seconds: {
    kind: 'histogram',
    unit: 's',
    description: 'Requests to the api, from their headers to the end of the reply',
    labels: {
      http_request_method: HTTP_METHODS,
      http_route: 'path templates of the declared routes; `other` for what none of them took',
      http_response_status_code: 'statuses of the declared errors; `499`: the caller left before the reply began',
    },
    buckets: REQUEST_SECONDS,
  },
  http_server_active_requests: {
    kind: 'gauge',
    unit: '{request}',
    description: 'Requests that the api is answering',
    labels: {},
  },
  assay_ingest_queue_bytes: {
    kind: 'gauge',
    unit: 'By',
    description: 'Records that wait to be stored, or are being stored',
    labels: {},
  },
  assay_ingest_group_records: {
    kind: 'histogram',
    unit: '{record}',
    description: 'Records and updates that are written together',
    labels: {},
    buckets: [1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000],
  },
  assay_ingest_group_bytes: {
    kind: 'histogram',
    unit: 'By',
    description: 'Bytes of records that are written together',
    labels: {},
    buckets: [1e3, 1e4, 1e5, 3e5, 1e6, 3e6, 8e6, 2e7, 1e8],
  },
  assay_insert_duration_seconds: {
    kind: 'histogram',
    unit: 's',
    description: 'Inserts into ClickHouse, each try by itself',
    labels: { table: 'the tables of the service', outcome: ['stored', 'failed'] },
    buckets: SECONDS,
  },
  assay_rows_running: {
    kind: 'gauge',
    unit: '{row}',
    description: 'Rows of experiments in flight',
    labels: {},
  },
  assay_rows_total: {
    kind: 'counter',
    unit: '{row}',
    description: 'Rows of experiments that were recorded',
    labels: {
      runner: ['prompt_template', 'dataset_outputs', 'module', 'http', 'caller_function'],
      outcome: ['succeeded', 'failed'],
    },
  },
  assay_runs_stuck: {
    kind: 'gauge',
    unit: '{run}',
    description: 'Experiment runs whose workflow tasks fail again and again',
    labels: {},
  },
  assay_workflow_task_failures_total: {
    kind: 'counter',
    unit: '{task}',
    description: 'Workflow tasks that failed in this worker',
    labels: {},
  },
  assay_model_attempt_duration_seconds: {
    kind: 'histogram',
    unit: 's',
    description: 'Tries of model calls, without their waits',
    labels: { integration: INTEGRATION, outcome: ATTEMPT_OUTCOMES },
    buckets: SECONDS,
  },
  assay_model_tokens_total: {
    kind: 'counter',
    unit: '{token}',
    description: 'Tokens that model calls used',
    labels: { integration: INTEGRATION, direction: ['input', 'output'] },
  },
  assay_model_cost_usd_total: {
    kind: 'counter',
    unit: 'USD',
    description: 'Cost of model calls at list price',
    labels: { integration: INTEGRATION },
  },
  assay_scores_total: {
    kind: 'counter',
    unit: '{score}',
    description: 'Metric values that were computed and stored',
    labels: { by: ['code', 'judge'], status: ['success', 'not_applicable', 'not_computed', 'error', 'failed'] },
  },
  assay_hung_statements_total: {
    kind: 'counter',
    unit: '{statement}',
    description: 'Statements that were not answered in their time and were given up',
    labels: { store: ['clickhouse', 'postgres'] },
  },
  assay_pool_wait_seconds: {
    kind: 'histogram',
    unit: 's',
    description: 'Waits of statements for a connection or a turn; those that need not wait are not counted',
    labels: { store: ['clickhouse', 'postgres'] },
    buckets: SECONDS,
  },
  process_resident_memory_bytes: { kind: 'gauge', unit: 'By', description: 'Memory of the process (RSS)', labels: {} },
  process_cpu_seconds_total: {
    kind: 'observedCounter',
    unit: 's',
    description: 'CPU time of the process, user and system',
    labels: {},
  },
  assay_event_loop_delay_seconds: {
    kind: 'gauge',
    unit: 's',
    description: 'Lateness of the event loop since the metrics were read last',
    labels: { quantile: ['0.5', '0.99', '1'] },
  },
} as const satisfies Record<string, Instrument>;
