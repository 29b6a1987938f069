import { useQuery } from '@tanstack/react-query';
import type { ProjectRow } from './projects.ts';
import { currentUserQuery, projectQuery } from './projects.ts';
import { send } from './service.ts';

type Action = ProjectRow['permissions'][number]['action'];

/** Returns true when the account may do this in the project; false until it is known. */
export function useMay(projectId: string, action: Action): boolean {
  const { data } = useQuery(projectQuery(projectId));
  return data?.permissions.some((one) => one.action === action && one.allowed) ?? false;
}

/** The rights of the signed-in account outside projects. All false until they are known. */
export interface Standing {
  /** A user; false for a key that is limited to a project, which has no part in accounts. */
  isUser: boolean;
  /** Administrators change users and groups. */
  managesUsers: boolean;
  /** Administrators and managers connect providers of models. */
  addsIntegrations: boolean;
}

export function useStanding(): Standing {
  const { data: user } = useQuery(currentUserQuery);
  const may = (wanted: string) => user?.permissions.some(({ action, allowed }) => action === wanted && allowed) ?? false;
  const isUser = may('read_api_keys');
  return {
    isUser,
    managesUsers: may('update'),
    addsIntegrations: isUser && user !== undefined && /^(admin|manager)$/.test(user.role),
  };
}

/** Returns true when the account may call models in the playground of the project; undefined until it is known. */
export function useMayCallModels(projectId: string): boolean | undefined {
  const { data } = useQuery({
    queryKey: ['project', projectId, 'use_playground'],
    queryFn: ({ signal }) => send<ProjectRow>(`/projects/${projectId}`, { signal, query: { actions: 'use_playground' } }),
  });
  return data?.permissions.some(({ allowed }) => allowed);
}
