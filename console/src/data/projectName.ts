import { useQuery } from '@tanstack/react-query';
import { projectQuery } from './projects.ts';

/** The name of a project; undefined until it is known. */
export const useProjectName = (projectId: string): string | undefined => useQuery(projectQuery(projectId)).data?.name;
