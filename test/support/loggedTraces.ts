import { Logger } from '../../client/index.ts';
import type { TestService } from './testService.ts';

export interface LoggedSpan {
  type: string;
  name: string;
  input: unknown;
  output: unknown;
  model: string;
  status_code: number;
  error_message: string;
  tools: unknown;
  metrics: Record<string, number>;
  spans: LoggedSpan[];
}

/** Runs `work` with a logger of a new log stream, and gives the traces that are stored of it, in their order. */
export async function loggedTraces(
  service: TestService,
  projectId: string,
  work: (logger: Logger) => unknown,
): Promise<LoggedSpan[]> {
  const logStream = crypto.randomUUID();
  const logger = new Logger({ client: service.client, projectId, logStream, flushEveryMs: 0 });
  await work(logger);
  await logger.close();
  return tracesIn(service, projectId, logStream);
}

/** The traces that a log stream holds, in their order. */
export async function tracesIn(service: TestService, projectId: string, logStream: string): Promise<LoggedSpan[]> {
  const streams = (await service.request('GET', `/projects/${projectId}/log_streams`)).body as { id: string; name: string }[];
  const { body } = await service.request('POST', `/v2/projects/${projectId}/traces/search`, {
    log_stream_id: streams.find(({ name }) => name === logStream)?.id,
    sort: { column_id: 'created_at', ascending: true, sort_type: 'column' },
  });
  const { records } = body as { records: { id: string }[] };
  return Promise.all(
    records.map(async ({ id }) => (await service.request('GET', `/v2/projects/${projectId}/traces/${id}`)).body as LoggedSpan),
  );
}
