import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type { CreateVersionRequest, TemplateResponse, TemplateVersionResponse } from '../../../shared/wire/prompts.ts';
import { type AssetsQuestion, assetsBody } from './assets.ts';
import { queryClient, send } from './service.ts';

export type Prompt = z.output<typeof TemplateResponse>;
export type PromptVersion = z.output<typeof TemplateVersionResponse>;
export type PromptMessages = Exclude<PromptVersion['template'], string>;
export type NewVersion = Pick<z.input<typeof CreateVersionRequest>, 'template' | 'settings' | 'output_type' | 'raw'>;

/** Most that a dialog shows. */
const MOST = 50;

export const promptListQuery = (question: AssetsQuestion) =>
  queryOptions({
    queryKey: ['prompts', 'list', question],
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const page = await send<{ templates: Prompt[]; paginated: boolean }>('/templates/query', {
        ...{ signal, repeatable: true, body: assetsBody(question), query: { limit: question.limit } },
      });
      return { items: page.templates, hasMore: page.paginated };
    },
  });

/** Prompts whose name contains `name`, the last changed first. */
export const promptsByNameQuery = (name: string) =>
  queryOptions({
    queryKey: ['prompts', name],
    queryFn: async ({ signal }) => {
      const body = assetsBody({ projectId: undefined, name, sort: '-updated_at', limit: MOST });
      return (await send<{ templates: Prompt[] }>('/templates/query', { signal, repeatable: true, body, query: { limit: MOST } }))
        .templates;
    },
  });

/** A prompt with all of its versions. Other people add some, so it is asked for again while a page shows it. */
export const promptQuery = (id: string) =>
  queryOptions({
    queryKey: ['prompt', id],
    refetchInterval: 20_000,
    refetchOnWindowFocus: true,
    queryFn: ({ signal }) => send<Prompt>(`/templates/${id}`, { signal }),
  });

/** The names of the variables in texts, by the rules of the service. */
export const variablesQuery = (templates: readonly string[]) =>
  queryOptions({
    queryKey: ['variables', templates],
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) =>
      Object.keys(await send<Record<string, string>>('/input_stub', { body: { templates }, signal, repeatable: true })),
  });

const changed = (): Promise<unknown> =>
  Promise.all([
    queryClient.invalidateQueries({ queryKey: ['prompts'] }),
    queryClient.invalidateQueries({ queryKey: ['prompt'] }),
  ]);

/** @returns its id */
export async function createPrompt(name: string, first: NewVersion, projectId: string): Promise<string> {
  const body = { name, ...first };
  const { id } = await send<Prompt>('/templates', { body, query: { project_id: projectId }, repeatable: false });
  await changed();
  return id;
}

/** Adds a version. @param isSelected experiments take it from now on @returns its number */
export async function addVersion(id: string, version: NewVersion, isSelected: boolean): Promise<number> {
  const added = await send<PromptVersion>(`/templates/${id}/versions`, { body: version, repeatable: false });
  if (isSelected) await send(`/templates/${id}/versions/${added.version}`, { method: 'PUT' });
  await changed();
  return added.version;
}

export async function selectVersion(id: string, version: number): Promise<void> {
  await send(`/templates/${id}/versions/${version}`, { method: 'PUT' });
  await changed();
}

export async function renamePrompt(id: string, name: string): Promise<void> {
  await send(`/templates/${id}`, { method: 'PATCH', body: { name } });
  await changed();
}
