import { useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useEffectEvent, useState } from 'react';
import { Icon } from '../parts/Icon.tsx';
import { useKeys } from '../parts/useKeys.ts';
import { useProjectId } from './useProjectId.ts';

const Palette = lazy(async () => ({ default: (await import('./Palette.tsx')).Palette }));
const Help = lazy(async () => ({ default: (await import('./Help.tsx')).Help }));

/** The parts of every page: the palette (Ctrl-K), the keys (`?`), and the ways by `g`. */
export function Helpers() {
  const [open, setOpen] = useState<'palette' | 'help'>();
  const projectId = useProjectId();
  const navigate = useNavigate();
  /** A dialog says that it is closed a moment later: by then a key may have opened the other. */
  const onCloseOf = (closed: typeof open) => () => setOpen((now) => (now === closed ? undefined : now));
  useKeys({
    '?': () => setOpen('help'),
    'g p': () => void navigate({ to: '/' }),
    'g e': () => projectId !== undefined && void navigate({ to: '/p/$projectId/experiments', params: { projectId }, search: {} }),
    'g d': () => projectId !== undefined && void navigate({ to: '/p/$projectId/datasets', params: { projectId }, search: {} }),
    'g q': () => void navigate({ to: '/queues' }),
    'g r': () => projectId !== undefined && void navigate({ to: '/p/$projectId/records', params: { projectId }, search: {} }),
  });
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    setOpen('palette');
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKey(event);
    document.addEventListener('keydown', listener);
    return () => document.removeEventListener('keydown', listener);
  }, []);
  return (
    <>
      <button
        type="button"
        className="plain iconed"
        aria-label="Go to (Ctrl-K)"
        title="Go to (Ctrl-K)"
        onClick={() => setOpen('palette')}
      >
        <Icon name="search" />
      </button>
      <button type="button" className="plain" aria-label="Keys" title="Keys (?)" onClick={() => setOpen('help')}>
        ?
      </button>
      <Suspense>
        {open === 'palette' && <Palette projectId={projectId} onClose={onCloseOf('palette')} />}
        {open === 'help' && <Help onClose={onCloseOf('help')} />}
      </Suspense>
    </>
  );
}
