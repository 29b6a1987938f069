import { useQuery } from '@tanstack/react-query';
import { playgroundLimitsQuery, setPlaygroundLimits } from '../../data/playgroundLimits.ts';
import { ErrorNote } from '../../parts/ErrorNote.tsx';
import { LoadingNote } from '../../parts/notes.tsx';
import { limitsText } from '../../playground/limitsText.ts';
import { type LimitField, LimitsForm } from '../LimitsForm.tsx';
import styles from '../Settings.module.css';

const fields: readonly LimitField<'most_calls' | 'most_cost_per_day'>[] = [
  {
    name: 'most_calls',
    label: 'Most calls at once',
    hint: 'Of everybody together. Empty: no limit.',
    input: { inputMode: 'numeric', placeholder: 'not limited' },
  },
  {
    name: 'most_cost_per_day',
    label: 'Most US dollars a day',
    hint: 'A day is one of UTC. Calls need a known price then. Empty: no limit.',
    input: { inputMode: 'decimal', placeholder: 'not limited' },
  },
];

/** Shows and sets the limits of a project's playground, with what is used of them today. */
export function PlaygroundLimitsPart({ projectId, mayChange }: { projectId: string; mayChange: boolean }) {
  const { data, error, refetch } = useQuery(playgroundLimitsQuery(projectId));
  const used = data && limitsText(data);
  return (
    <section className={styles.part} aria-label="Limits of the playground">
      <h2>Limits of the playground</h2>
      {error ? <ErrorNote error={error} onRetry={() => void refetch()} /> : !data && <LoadingNote what="the limits" />}
      {data && used && (
        <dl className={styles.facts}>
          <div>
            <dt>Calls</dt>
            <dd>
              {used.calls}
              {data.most_calls === null && ', not limited'}
            </dd>
          </div>
          <div>
            <dt>Cost</dt>
            <dd>
              {used.cost}, {used.costDetail}
              {data.most_cost_per_day === null && '; not limited'}
            </dd>
          </div>
        </dl>
      )}
      {data && mayChange && (
        <LimitsForm
          fields={fields}
          limits={data}
          draftKey={`playground limits of ${projectId}`}
          save={(limits) => setPlaygroundLimits(projectId, limits)}
          saved="The limits of the playground are saved; they hold for the next call"
        />
      )}
    </section>
  );
}
