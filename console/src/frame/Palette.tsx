import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, useDeferredValue, useEffect, useRef, useState } from 'react';
import { byIdQuery, type FoundThing } from '../data/findById.ts';
import { projectsQuery } from '../data/projects.ts';
import styles from './Help.module.css';

interface Place {
  label: string;
  hint: string;
  to: string;
  search?: Record<string, string>;
}

/** Projects by name, pages, and whatever has the id that was pasted. */
export function Palette({ projectId, onClose }: { projectId: string | undefined; onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const navigate = useNavigate();
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const typed = text.trim();
  const wanted = useDeferredValue(typed);
  const { data: projects } = useQuery(projectsQuery(wanted));
  const { data: found } = useQuery(byIdQuery(wanted, projectId));
  useEffect(() => dialog.current?.showModal(), []);
  const fits = ({ label }: Place) => label.toLowerCase().includes(typed.toLowerCase());
  const ofProjects = (projects?.projects ?? []).map(({ id, name }) => ({ label: name, hint: 'project', to: `/p/${id}/records` }));
  // Enter leads to what fits all that is typed, though answers to less of it are there.
  const places = [
    ...(found && wanted === typed ? [placeOf(found, projectId)] : []),
    ...pagesOf(projectId).filter(fits),
    ...ofProjects.filter(fits).slice(0, 20),
  ];
  const at = Math.min(chosen, places.length - 1);
  const go = (place: Place | undefined) => {
    if (!place) return;
    dialog.current?.close();
    void navigate({ to: place.to, search: place.search ?? {} });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (event.key === 'Enter') go(places[at]);
    else if (step === 0) return;
    else setChosen((at + step + places.length) % places.length);
    event.preventDefault();
  };
  return (
    <dialog ref={dialog} aria-label="Go to" closedby="any" onClose={onClose} className={styles.palette}>
      <input
        role="combobox"
        aria-label="Project, page or id"
        aria-expanded={places.length > 0}
        aria-controls="places"
        aria-activedescendant={at >= 0 ? `place-${at}` : undefined}
        placeholder="A project, a page, or an id"
        autoComplete="off"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div role="listbox" id="places" aria-label="Places" tabIndex={-1} className={styles.found}>
        {places.map((place, index) => (
          <div
            key={`${place.hint} ${place.to} ${place.label}`}
            id={`place-${index}`}
            role="option"
            aria-selected={index === at}
            tabIndex={-1}
            onPointerDown={() => go(place)}
          >
            <span className="one-line">{place.label}</span>
            <span className="quiet">{place.hint}</span>
          </div>
        ))}
      </div>
    </dialog>
  );
}

function pagesOf(projectId: string | undefined): Place[] {
  const all: Place[] = [
    { label: 'Projects', hint: 'page', to: '/' },
    { label: 'Annotation queues', hint: 'page', to: '/queues' },
    { label: 'Settings', hint: 'page', to: '/settings/integrations' },
    { label: 'API keys', hint: 'settings', to: '/settings/keys' },
    { label: 'Health of the service', hint: 'settings', to: '/settings/health' },
  ];
  if (projectId === undefined) return all;
  const to = `/p/${projectId}/records`;
  return [
    { label: 'Traces', hint: 'page', to },
    { label: 'Spans', hint: 'page', to, search: { kind: 'spans' } },
    { label: 'Sessions', hint: 'page', to, search: { kind: 'sessions' } },
    { label: 'Datasets', hint: 'page', to: `/p/${projectId}/datasets` },
    { label: 'Prompts', hint: 'page', to: `/p/${projectId}/prompts` },
    { label: 'Playground', hint: 'page', to: `/p/${projectId}/playground` },
    { label: 'Metrics', hint: 'page', to: `/p/${projectId}/metrics` },
    { label: 'Failures', hint: 'page', to, search: { q: 'status_code >= 400' } },
    { label: 'Experiments', hint: 'page', to: `/p/${projectId}/experiments` },
    ...all,
  ];
}

function placeOf({ kind, id, name, traceId }: FoundThing, projectId: string | undefined): Place {
  if (kind === 'project') return { label: name, hint: 'project', to: `/p/${id}/records` };
  if (kind === 'sessions') return { label: name, hint: 'session', to: `/p/${projectId}/sessions/${id}` };
  if (kind === 'traces') return { label: name, hint: 'trace', to: `/p/${projectId}/traces/${id}` };
  return { label: name, hint: 'span', to: `/p/${projectId}/traces/${traceId}`, search: { span: id } };
}
