import { useQuery } from '@tanstack/react-query';
import type { ServiceState } from '../../../../shared/wire/serviceState.ts';
import { serviceStateQuery } from '../../data/serviceState.ts';
import { ErrorNote } from '../../parts/ErrorNote.tsx';
import { bytesText, countText, durationText, UNKNOWN } from '../../parts/format.ts';
import lists from '../../parts/ListPage.module.css';
import { LoadingNote } from '../../parts/notes.tsx';
import { Time } from '../../parts/Time.tsx';
import { SectionHead } from '../SectionHead.tsx';
import styles from '../Settings.module.css';
import { helpForPart, helpForQueue } from './help.ts';

/** Shows whether each part of the service works, and what to start where one does not. */
export function HealthPage() {
  const { data, error, refetch } = useQuery(serviceStateQuery);
  return (
    <>
      <SectionHead title="Health" />
      {error ? <ErrorNote error={error} onRetry={() => void refetch()} /> : !data && <LoadingNote what="the state" />}
      {data && <State state={data} />}
    </>
  );
}

function State({ state }: { state: ServiceState }) {
  const { is_ready, message, version, started_at, disk } = state;
  return (
    <>
      <p role="status">
        <strong className={is_ready ? styles.good : 'bad'}>{is_ready ? 'Ready' : 'Not ready'}</strong>
        {message !== 'ready' && `: ${message}`}
      </p>
      <Parts state={state} />
      <Queues state={state} />
      <section className={styles.part} aria-label="This process">
        <h2>This process</h2>
        <dl className={styles.facts}>
          <dt>Version</dt>
          <dd>{version}</dd>
          <dt>Started</dt>
          <dd>
            <Time at={started_at} />
          </dd>
          <dt>Disk</dt>
          <dd>
            {disk
              ? `${bytesText(disk.free_bytes)} free of ${bytesText(disk.total_bytes)}`
              : 'all data is on servers, whose disks are not seen from here'}
          </dd>
        </dl>
      </section>
    </>
  );
}

function Parts({ state: { parts } }: { state: ServiceState }) {
  return (
    <section className={styles.part} aria-label="Parts">
      <h2>Parts</h2>
      <table className={lists.table}>
        <thead>
          <tr>
            <th scope="col">Part</th>
            <th scope="col" className={lists.wide}>
              Runs
            </th>
            <th scope="col">State</th>
            <th scope="col" className={`number ${lists.wide}`}>
              Answered in
            </th>
          </tr>
        </thead>
        <tbody>
          {parts.map((part) => (
            <tr key={part.id}>
              <td className={styles.capital}>{part.label}</td>
              <td className={lists.wide}>{part.is_embedded ? 'in the service' : 'as a server'}</td>
              <td>
                <span className={part.answers ? styles.good : 'bad'}>{part.answers ? 'answers' : 'does not answer'}</span>
                {!part.answers && <p>{helpForPart(part)}</p>}
              </td>
              <td className={`number ${lists.wide}`}>
                {part.latency_ms === null ? UNKNOWN : durationText(part.latency_ms * 1e6)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

const doneThere: Record<ServiceState['queues'][number]['name'], string> = {
  control: 'begin and end of runs',
  rows: 'rows of experiments and their scores',
  scoring: 'scores of log streams',
  maintenance: 'recurring jobs, and the sweep of expired records',
};

function Queues({ state: { queues } }: { state: ServiceState }) {
  return (
    <section className={styles.part} aria-label="Queues">
      <h2>Queues of work</h2>
      <table className={lists.table}>
        <thead>
          <tr>
            <th scope="col">Queue</th>
            <th scope="col" className={lists.wide}>
              What is done there
            </th>
            <th scope="col">Workers</th>
          </tr>
        </thead>
        <tbody>
          {queues.map(({ name, task_queue, workers }) => (
            <tr key={name}>
              <td>
                {name} <code className={`quiet ${lists.wide}`}>{task_queue}</code>
              </td>
              <td className={lists.wide}>{doneThere[name]}</td>
              <td>
                {workers === null ? (
                  `${UNKNOWN} (Temporal does not say)`
                ) : (
                  <span className={workers === 0 ? 'bad' : styles.good}>{workers === 0 ? 'none' : countText(workers)}</span>
                )}
                {workers === 0 && <p>{helpForQueue(name)}</p>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
