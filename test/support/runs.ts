import { expect } from 'vitest';
import type { z } from 'zod';
import type { ServiceClient } from '../../client/http.ts';
import type { ProgressReply, RunReply, RunRequest } from '../../shared/wire/experimentRuns.ts';

export type Progress = z.output<typeof ProgressReply>;

/** One experiment of a service, through its API alone. */
export interface ExperimentOf {
  id: string;
  projectId: string;
  start(request: z.input<typeof RunRequest>): Promise<z.output<typeof RunReply>>;
  /** pause, resume, cancel or concurrency. */
  steer(what: string, body?: unknown): Promise<z.output<typeof RunReply>>;
  progress(): Promise<Progress>;
  /** Waits until `holds` of the progress; a run that ends without it fails the test. */
  until(holds: (progress: Progress) => boolean, timeoutMs?: number): Promise<Progress>;
  /** Waits for the end of the run. */
  end(timeoutMs?: number): Promise<Progress>;
  /** Returns the workflow's id of the run that was started last. */
  workflowId(): string;
  traces(): Promise<RowRecord[]>;
  spans(): Promise<SpanRecord[]>;
}

export interface RowRecord {
  id: string;
  name: string;
  input: string;
  output: string | null;
  dataset_input: string;
  dataset_output: string | null;
  dataset_metadata: Record<string, string>;
  error_message: string;
  status_code: number;
  metrics: Record<string, unknown>;
  metric_info: Record<string, { status_type: string; value?: unknown; message?: string }> | null;
}

export interface SpanRecord {
  id: string;
  trace_id: string;
  type: string;
  name: string;
}

const ENDED = ['completed', 'failed', 'cancelled'];
const LOOK_MS = 50;
/** How long the service may wait for the end of a run before it answers. */
const WAIT_MS = 10_000;

/** A new experiment in the project, scored by the built-in metrics of these names. */
export async function newExperiment(
  client: ServiceClient,
  projectId: string,
  { name, metrics = [], ...rest }: { name: string; metrics?: string[]; [field: string]: unknown },
): Promise<ExperimentOf> {
  const scorers = await Promise.all(metrics.map((metric) => scorerNamed(client, metric)));
  const { id } = await client.send<{ id: string }>(`/projects/${projectId}/experiments`, { body: { name, scorers, ...rest } });
  return experimentOf(client, projectId, id);
}

export function experimentOf(client: ServiceClient, projectId: string, id: string): ExperimentOf {
  const path = `/projects/${projectId}/experiments/${id}`;
  let workflowId = '';
  const progress = (waitMs = 0) => client.send<Progress>(`${path}/progress`, { query: { wait_ms: waitMs } });
  const all = async <T>(what: string): Promise<T[]> => {
    const found: T[] = [];
    for (let token: number | null = 0; token !== null; ) {
      const page: { records: T[]; next_starting_token: number | null } = await client.send(
        `/projects/${projectId}/${what}/search`,
        {
          body: { experiment_id: id, starting_token: token, limit: 1_000 },
        },
      );
      found.push(...page.records);
      token = page.next_starting_token;
    }
    return found;
  };
  const until = async (holds: (now: Progress) => boolean, timeoutMs = 240_000, waitMs = 0): Promise<Progress> => {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const now = await progress(Math.max(0, Math.min(waitMs, deadline - Date.now())));
      if (holds(now)) return now;
      expect(ENDED, `the run has ended: ${JSON.stringify(now)}`).not.toContain(now.state);
      expect(Date.now(), `too late: ${JSON.stringify(now)}`).toBeLessThan(deadline);
      // Each look counts the run's records: without a pause they would take a good part of a core from what is waited for.
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  };
  return {
    id,
    projectId,
    async start(request) {
      const reply = await client.send<z.output<typeof RunReply>>(`${path}/run`, { body: request });
      workflowId = reply.workflow_id;
      return reply;
    },
    workflowId: () => workflowId,
    steer: (what, body = {}) => client.send(`${path}/${what}`, { body }),
    progress: () => progress(),
    until: (holds, timeoutMs) => until(holds, timeoutMs),
    end: (timeoutMs) => until(({ state }) => ENDED.includes(state), timeoutMs, WAIT_MS),
    traces: () => all('traces'),
    spans: () => all('spans'),
  };
}

export async function scorerNamed(
  client: ServiceClient,
  name: string,
): Promise<{ id: string; name: string; scorer_type: string }> {
  const { scorers } = await client.send<{ scorers: { id: string; name: string; scorer_type: string }[] }>('/scorers/list', {
    body: { filters: [{ name: 'name', operator: 'eq', value: name }] },
  });
  const [scorer] = scorers;
  if (!scorer) throw new Error(`there is no metric ${name}`);
  return { id: scorer.id, name: scorer.name, scorer_type: scorer.scorer_type };
}

/** A custom integration without secrets for a model endpoint of this machine. */
export async function modelAt(client: ServiceClient, name: string, url: string, models: string[]): Promise<void> {
  await client.send(`/integrations/custom/${name}`, {
    method: 'PUT',
    body: {
      endpoint: url,
      authentication_type: 'api_key',
      api_key_header: 'X-Model-Key',
      api_key_value: 'a key',
      models,
      default_model: models[0],
    },
  });
}
