import { useQuery } from '@tanstack/react-query';
import type { ProjectRow } from './projects.ts';
import { projectQuery } from './projects.ts';

type Action = ProjectRow['permissions'][number]['action'];

/** Returns true when the account may do this in the project; false until it is known. */
export function useMay(projectId: string, action: Action): boolean {
  const { data } = useQuery(projectQuery(projectId));
  return data?.permissions.some((one) => one.action === action && one.allowed) ?? false;
}
