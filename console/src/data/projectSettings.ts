import { queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type { IngestCountersResponse } from '../../../shared/wire/ingestCounters.ts';
import type { RetentionEffect, RetentionResponse } from '../../../shared/wire/retention.ts';
import { queryClient, send } from './service.ts';

export type Retention = z.output<typeof RetentionResponse>;
export type Effect = z.output<typeof RetentionEffect>;

export const retentionQuery = (projectId: string) =>
  queryOptions({
    queryKey: ['retention', projectId],
    queryFn: ({ signal }) => send<Retention>(`/projects/${projectId}/retention`, { signal }),
  });

/** Asks what a retention of so many days would delete of the project now. */
export const retentionEffect = (projectId: string, days: number) =>
  send<Effect>(`/projects/${projectId}/retention/effect`, { query: { retention_days: days } });

export async function setRetention(projectId: string, days: number | null): Promise<void> {
  await send(`/projects/${projectId}/retention`, { method: 'PUT', body: { retention_days: days } });
  // Whatever is on a page may be gone.
  await queryClient.invalidateQueries();
}

export const ingestCountersQuery = (projectId: string) =>
  queryOptions({
    queryKey: ['ingest counters', projectId],
    queryFn: ({ signal }) => send<z.output<typeof IngestCountersResponse>>(`/projects/${projectId}/ingest_counters`, { signal }),
    staleTime: 0,
  });
