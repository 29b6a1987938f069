import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import { HttpStatusError } from '../../../client/errors.ts';
import { timedName } from '../../../client/unfinishedExperiment.ts';
import type { EstimateReply, EstimateRequest } from '../../../shared/wire/experimentEstimate.ts';
import type { RunRequest } from '../../../shared/wire/experimentRuns.ts';
import type { ExperimentCreateRequest, ExperimentResponse } from '../../../shared/wire/experiments.ts';
import { queryClient, search, send } from './service.ts';

export type Estimate = z.output<typeof EstimateReply>;
export type EstimateBody = z.input<typeof EstimateRequest>;

/** The requests that make an experiment and start its run. */
export interface StartBodies {
  create: z.input<typeof ExperimentCreateRequest>;
  run: z.input<typeof RunRequest>;
  tags: readonly { key: string; value: string }[];
}

/** Asks what a run would cost; a reason to refuse the run is the error. */
export const estimateQuery = (projectId: string, body: EstimateBody | undefined) =>
  queryOptions({
    queryKey: ['estimate', projectId, body],
    enabled: body !== undefined,
    placeholderData: keepPreviousData,
    retry: false,
    queryFn: ({ signal }) => search<Estimate>(`/projects/${projectId}/experiments/estimate`, body ?? {}, signal),
  });

/**
 * Makes an experiment and starts its run. Asked again with the same key it gives the same one. What refuses the start takes the experiment back.
 * @returns its id
 */
export async function startExperiment(projectId: string, { create, run, tags }: StartBodies, key: string): Promise<string> {
  const at = `/projects/${projectId}/experiments`;
  const { id } = await send<ExperimentResponse>(at, { body: create, headers: { 'idempotency-key': key }, repeatable: true });
  const one = `${at}/${id}`;
  try {
    for (const tag of tags) await send(`${one}/tags`, { body: { ...tag, tag_type: 'generic' }, repeatable: true });
    await send(`${one}/run`, { body: run, repeatable: true });
  } catch (err) {
    // Without an answer it may have started: the same key goes on with it.
    if (err instanceof HttpStatusError && err.status < 500 && err.status !== 401)
      await send(one, { method: 'DELETE' }).catch(() => undefined);
    throw err;
  }
  await queryClient.invalidateQueries({ queryKey: ['experiments', projectId] });
  return id;
}

/** The name, or where an experiment has it the name with the time, as programs make it. */
export async function freeName(projectId: string, name: string): Promise<string> {
  const filters = [{ name: 'name', operator: 'eq', value: name, case_sensitive: true }];
  const { total_count } = await send<{ total_count: number }>(`/projects/${projectId}/experiments/count`, {
    ...{ body: { filters }, repeatable: true },
  });
  return total_count > 0 ? timedName(name, new Date()) : name;
}
