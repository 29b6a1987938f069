import { queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type { PlaygroundCallRequest, PlaygroundEvent } from '../../../shared/wire/playground.ts';
import type { RenderTemplateResponse } from '../../../shared/wire/prompts.ts';
import { events, send } from './service.ts';

/** A row of a version of a dataset, by its place from 0. */
export interface RowPlace {
  datasetId: string;
  version: number;
  index: number;
}

/** The source of the variables' values: a row, or the input of a record. */
export type ValueSource = RowPlace | { input: string };

/** The values of variables by the rules of the service, which an experiment goes by. Those that nothing is bound to are left out. */
export const valuesQuery = (source: ValueSource | undefined, names: readonly string[]) =>
  queryOptions({
    queryKey: ['values of variables', source ?? null, names],
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    enabled: source !== undefined && names.length > 0,
    queryFn: async ({ signal }): Promise<Record<string, string>> => {
      const separator = crypto.randomUUID();
      const template = names.map((name) => `{{${name}}}`).join(separator);
      const { rendered_templates: texts } = await send<z.output<typeof RenderTemplateResponse>>('/render_template', {
        ...{ signal, repeatable: true, body: { template, data: dataOf(source) } },
        query: { limit: 1, starting_token: source && 'index' in source ? source.index : 0 },
      });
      const [{ result, warning } = { result: '', warning: null }] = texts;
      const values = texts.length === 0 ? [] : result.split(separator);
      const isBound = (name: string) => !warning?.includes(`{{${name}}}`);
      return Object.fromEntries(values.flatMap((value, at) => (isBound(names[at] ?? '') ? [[names[at] ?? '', value]] : [])));
    },
  });

const dataOf = (source: ValueSource | undefined) =>
  source && 'index' in source
    ? { dataset_id: source.datasetId, dataset_version_index: source.version }
    : { input_strings: [source?.input ?? ''] };

export type CallRequest = Pick<PlaygroundCallRequest, 'template' | 'variables' | 'prompt_template_version_id'> & {
  settings: Record<string, unknown>;
};

/** Calls a model once, and yields what comes of it. The signal cancels the call. */
export const callModel = (projectId: string, request: CallRequest, signal: AbortSignal) =>
  events<PlaygroundEvent>(`/projects/${projectId}/playground_calls`, request, signal);
