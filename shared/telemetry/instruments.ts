/** What one metric of the service is. `docs/monitoring.md` lists all of them; a test holds the two equal. */
export interface Instrument {
  /** A gauge and an observed counter are read when somebody asks for the metrics; the others are told what happens. */
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
   * Values of each label: all there are, or a sentence that says what bounds them. Never a name, an id, a path, or another text that comes from users:
   * each combination of values is a series that every scrape carries.
   */
  labels: Readonly<Record<string, readonly string[] | string>>;
  /** Upper bounds of a histogram's buckets. */
  buckets?: readonly number[];
}

/** OpenTelemetry's advice for the time of HTTP requests, and longer ones for uploads and exports. */
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60];

const HTTP_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', '_OTHER'] as const;

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
