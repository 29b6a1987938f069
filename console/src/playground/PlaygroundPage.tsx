import { useParams, useSearch } from '@tanstack/react-router';
import { useProjectName } from '../data/projectName.ts';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { LoadingNote } from '../parts/notes.tsx';
import { useTitle } from '../parts/useTitle.ts';
import { Playground } from './Playground.tsx';
import { useStart } from './useStart.ts';

const from = '/signed in/p/$projectId/playground';

/** Messages that are tried on several models side by side. */
export function PlaygroundPage() {
  const { projectId } = useParams({ from });
  const address = useSearch({ from });
  useTitle('Playground', useProjectName(projectId));
  const { start, error, retry, ...opened } = useStart(projectId, address);
  if (error) return <ErrorNote error={error} onRetry={retry} />;
  if (!start) return <LoadingNote what="what is tried" />;
  return <Playground {...{ projectId, address, start, opened }} />;
}
