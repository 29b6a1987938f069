import { useParams, useSearch } from '@tanstack/react-router';

/** The project that the page is of, or that a person came to it from; undefined without one. */
export function useProjectId(): string | undefined {
  const projectId = useParams({ strict: false, select: ({ projectId }) => projectId });
  const project = useSearch({ strict: false, select: ({ project }) => project });
  return projectId ?? project;
}
