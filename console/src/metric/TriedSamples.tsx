import { Link } from '@tanstack/react-router';
import type { Tried, TriedSample } from '../data/judgeTryOut.ts';
import { costText, countText, lineText, numberText, UNKNOWN } from '../parts/format.ts';
import list from '../parts/ListPage.module.css';
import styles from './Judge.module.css';

interface Props {
  projectId: string;
  tried: Tried;
  /** True where judges were asked: their calls cost money. */
  isJudged: boolean;
  /** The kinds of records that the metric looks at. */
  kinds: readonly string[];
  /** Id of the experiment that the records are of; undefined of a log stream. */
  experiment: string | undefined;
}

/** Shows the value of each sample. Where none has one it shows the causes, once each. */
export function TriedSamples({ projectId, tried: { samples, summary }, isJudged, kinds, experiment }: Props) {
  if (samples.length === 0)
    return (
      <p role="status">
        Nothing was {isJudged ? 'judged' : 'scored'}: there is no such record among those that the {isJudged ? 'judge' : 'metric'}{' '}
        looks at ({kinds.join(', ')}).
      </p>
    );
  const failed = summary.with_value === 0;
  return (
    <div className={styles.tried}>
      <p role={failed ? 'alert' : 'status'}>
        {failed
          ? `${summary.samples === 1 ? 'The one sample has no value' : `None of ${countText(summary.samples)} samples has a value`}.`
          : `${countText(summary.with_value)} of ${countText(summary.samples)} samples have a value.`}
        {isJudged && ` ${costLine(summary)}`}
      </p>
      {summary.causes.length > 0 && (
        <ul aria-label="Causes" className={styles.causes}>
          {summary.causes.map(({ reason, samples: count, status }) => (
            <li key={`${status} ${reason}`}>
              {countText(count)} of {countText(summary.samples)}: {reason}
            </li>
          ))}
        </ul>
      )}
      {!failed && <Table {...{ projectId, samples, experiment, isJudged }} />}
    </div>
  );
}

function costLine({ calls, cost, samples_of_unknown_cost: unknown }: Tried['summary']): string {
  const without = cost !== null && unknown > 0 ? ` without ${countText(unknown)} samples of unknown cost` : '';
  const paid = cost === null ? 'cost not known' : `cost ${costText(cost)}`;
  return `${countText(calls)} ${calls === 1 ? 'call' : 'calls'} answered, ${paid}${without}.`;
}

function Table({
  projectId,
  samples,
  experiment,
  isJudged,
}: Pick<Props, 'projectId' | 'experiment' | 'isJudged'> & { samples: readonly TriedSample[] }) {
  return (
    <table className={`${list.table} ${styles.samples}`}>
      <thead>
        <tr>
          <th scope="col">Record</th>
          <th scope="col">Value</th>
          <th scope="col">{isJudged ? 'Explanation' : 'Why there is none'}</th>
          {isJudged && (
            <th scope="col" className={`number ${list.wide}`}>
              Cost
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {samples.map((sample, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a text has no id, and samples stay as they are
          <tr key={index}>
            <td>
              <Source {...{ projectId, sample, experiment }} />
              <p className="quiet">{lineText(sample.output, 120)}</p>
            </td>
            <td>{valueText(sample.value)}</td>
            <td className={sample.reason === null ? undefined : 'bad'}>
              {sample.reason ?? sample.explanation ?? <span className="quiet">{UNKNOWN}</span>}
            </td>
            {isJudged && <td className={`number ${list.wide}`}>{costText(sample.cost)}</td>}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Source({
  projectId,
  sample: { source, name },
  experiment,
}: Pick<Props, 'projectId' | 'experiment'> & { sample: TriedSample }) {
  const { type, id, run_id } = source;
  if (type === 'dataset_row' || type === 'text' || id === null || run_id === null) return <>{name}</>;
  const kind = type === 'trace' ? undefined : type === 'session' ? 'sessions' : 'spans';
  return (
    <Link
      to="/p/$projectId/records"
      params={{ projectId }}
      search={{ ...(experiment === undefined ? { run: run_id } : { experiment }), ...(kind ? { kind } : {}), open: id }}
      target="_blank"
    >
      {name || type}
    </Link>
  );
}

/** Booleans as the words of the form. */
function valueText(value: unknown): string {
  if (value === null || value === undefined) return UNKNOWN;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') return numberText(value);
  return Array.isArray(value) ? value.join(', ') || 'none' : lineText(value);
}
