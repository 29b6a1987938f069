import { useQuery } from '@tanstack/react-query';
import { callLimitsQuery, saveCallLimits } from '../../data/integrations.ts';
import { ErrorNote } from '../../parts/ErrorNote.tsx';
import { countText } from '../../parts/format.ts';
import { LoadingNote } from '../../parts/notes.tsx';
import { type LimitField, LimitsForm } from '../LimitsForm.tsx';
import styles from '../Settings.module.css';

const whole = (placeholder: string) => ({ inputMode: 'numeric', pattern: '[0-9]*', placeholder }) as const;

const fields: readonly LimitField<'concurrency' | 'requests_per_minute' | 'tokens_per_minute'>[] = [
  {
    name: 'concurrency',
    label: 'Calls in flight',
    hint: 'At the same time. Without a number 1,000.',
    input: whole('1,000'),
  },
  { name: 'requests_per_minute', label: 'Calls a minute', input: whole('not limited') },
  { name: 'tokens_per_minute', label: 'Tokens a minute', hint: 'Input and output together.', input: whole('not limited') },
];

/** The limits of an integration's calls, over all workers. */
export function CallLimits({ id, mayChange }: { id: string; mayChange: boolean }) {
  const { data, error } = useQuery(callLimitsQuery(id));
  return (
    <section className={styles.part} aria-label="Call limits">
      <h2>Call limits</h2>
      <p className="quiet">Judges and all runs together, over all workers. Calls beyond them wait.</p>
      {error ? <ErrorNote error={error} /> : !data && <LoadingNote what="the limits" />}
      {data && !mayChange && (
        <dl className={styles.facts}>
          {fields.map(({ name, label, input }) => (
            <div key={name}>
              <dt>{label}</dt>
              <dd>{data[name] == null ? input.placeholder : countText(data[name])}</dd>
            </div>
          ))}
        </dl>
      )}
      {data && mayChange && (
        <LimitsForm
          fields={fields}
          limits={data}
          draftKey={`limits of ${id}`}
          save={(limits) => saveCallLimits(id, limits)}
          saved="The limits are saved; they hold within a second"
        />
      )}
    </section>
  );
}
