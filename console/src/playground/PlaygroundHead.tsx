import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { datasetQuery } from '../data/datasets.ts';
import type { RowPlace } from '../data/playground.ts';
import { logStreamsQuery, PLAYGROUND_STREAM } from '../data/projects.ts';
import type { PromptVersion } from '../data/prompts.ts';
import { lineText } from '../parts/format.ts';
import styles from './Playground.module.css';
import type { Opened } from './useStart.ts';

interface Props {
  projectId: string;
  opened: Pick<Opened, 'origin' | 'record' | 'prompt'>;
  version: PromptVersion | undefined;
}

/** Names the source of what is tried, and links to it. */
export function PlaygroundHead({ projectId, opened: { origin, record, prompt }, version }: Props) {
  const { data: streams } = useQuery(logStreamsQuery(projectId));
  const stream = streams?.find(({ name }) => name === PLAYGROUND_STREAM);
  const parts: ReactNode[] = [];
  if (prompt && version)
    parts.push(
      <Link
        key="prompt"
        to="/prompts/$promptId"
        params={{ promptId: prompt.id }}
        search={{ project: projectId, version: version.version }}
      >
        {prompt.name}, version {version.version}
      </Link>,
    );
  if (record)
    parts.push(
      <Link
        key="record"
        to="/p/$projectId/traces/$traceId"
        params={{ projectId, traceId: String(record.trace_id ?? record.id) }}
        search={origin?.kind === 'span' ? { span: record.id } : {}}
      >
        {lineText(record.name || record.type, 120)}
      </Link>,
    );
  if (origin?.kind === 'row') parts.push(<RowLink key="row" projectId={projectId} row={origin} />);
  return (
    <div className={styles.head}>
      <h1>Playground</h1>
      {parts.length > 0 && <p className="quiet">from {parts.flatMap((part, at) => (at === 0 ? [part] : [' · ', part]))}</p>}
      {stream && (
        <p>
          <Link to="/p/$projectId/records" params={{ projectId }} search={{ run: stream.id }}>
            Earlier calls
          </Link>
        </p>
      )}
    </div>
  );
}

function RowLink({ projectId, row: { datasetId, version, index } }: { projectId: string; row: RowPlace }) {
  const { data: dataset } = useQuery(datasetQuery(datasetId));
  return (
    <Link to="/datasets/$datasetId" params={{ datasetId }} search={{ project: projectId, version }}>
      row {index + 1} of {dataset?.name ?? 'a dataset'}, version {version}
    </Link>
  );
}
