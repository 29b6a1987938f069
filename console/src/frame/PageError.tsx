import { Link, useRouter } from '@tanstack/react-router';
import { ErrorNote } from '../parts/ErrorNote.tsx';
import { EmptyNote } from '../parts/notes.tsx';
import { useTitle } from '../parts/useTitle.ts';

export function PageError({ error }: { error: unknown }) {
  const router = useRouter();
  return <ErrorNote error={error} onRetry={() => void router.invalidate()} />;
}

export function NotFound() {
  useTitle('Not found');
  return (
    <EmptyNote title="There is no such page" isPage>
      <p>
        The address may be cut. <Link to="/">All projects</Link>
      </p>
    </EmptyNote>
  );
}
