import { queryOptions } from '@tanstack/react-query';
import { send } from './service.ts';

/** Datasets or prompts that a list shows. */
export interface AssetsQuestion {
  /** Those that are of this project or used there; all that the account sees without it. */
  projectId: string | undefined;
  /** A part of the name; empty for all. */
  name: string;
  /** A column; with a minus before it, the largest first. */
  sort: string;
  limit: number;
}

/** The body of a query for them. */
export function assetsBody({ projectId, name, sort }: AssetsQuestion) {
  return {
    filters: [
      ...(name === '' ? [] : [{ name: 'name', operator: 'contains', value: name, case_sensitive: false }]),
      ...(projectId === undefined ? [] : [{ name: 'used_in_project', value: projectId }]),
    ],
    sort: { name: sort.replace(/^-/, ''), ascending: !sort.startsWith('-') },
  };
}

/** An experiment that uses a dataset or a prompt. */
export interface Use {
  id: string;
  name: string;
  created_at: string;
  dataset: { version_index: number } | null;
  prompt: { version_index: number } | null;
}

/** The newest experiments of a project that use it. */
export const usesQuery = (projectId: string, by: 'dataset_id' | 'prompt_template_id', id: string) =>
  queryOptions({
    queryKey: ['uses', projectId, by, id],
    queryFn: async ({ signal }) => {
      const body = { filters: [{ name: by, value: id }], sort: { name: 'created_at', ascending: false }, limit: 50 };
      type Page = { experiments: Use[]; paginated: boolean };
      return send<Page>(`/projects/${projectId}/experiments/search`, { body, signal, repeatable: true });
    },
  });

/** Says whether the account may do this with a dataset or a prompt. */
export const may = (
  asset: { permissions: readonly { action: string; allowed: boolean }[] } | undefined,
  action: 'update' | 'delete' | 'export' | 'rename',
): boolean => asset?.permissions.some((one) => one.action === action && one.allowed) ?? false;
