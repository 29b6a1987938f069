import { Link } from '@tanstack/react-router';
import type { TemplateAgreement } from '../data/agreement.ts';
import type { RunOf } from '../data/records.ts';
import { countText } from '../parts/format.ts';
import list from '../parts/ListPage.module.css';
import styles from './Judge.module.css';
import { kindOfRecords } from './judgeDraft.ts';

interface Props {
  found: TemplateAgreement;
  run: RunOf;
  /** Kinds of records that the metric looks at. */
  kinds: readonly string[];
}

const figure = (value: number): string => value.toFixed(2);
const share = (value: number): string => `${(100 * value).toFixed(1)} %`;

/** Upper bounds of the words that Landis and Koch gave to values of kappa. */
const words = [
  [0, 'No agreement beyond chance'],
  [0.2, 'Slight agreement'],
  [0.4, 'Fair agreement'],
  [0.6, 'Moderate agreement'],
  [0.8, 'Substantial agreement'],
  [1, 'Almost perfect agreement'],
] as const;
const wordOf = (kappa: number): string => words.find(([most]) => kappa <= most)?.[1] ?? words[5][1];

/** How far a metric and the people who answered one question agree. */
export function Agreement({ found, run, kinds }: Props) {
  const { template_name, kappa, interval, pairs, reason, rule, weighted, labels, table } = found;
  const left = leftOut(found);
  const observed = found.observed_agreement;
  const expected = found.expected_agreement;
  return (
    <section className={styles.try} aria-label={template_name}>
      <h2>{template_name}</h2>
      {kappa === null ? (
        <p>
          <strong>Not known:</strong> {reason ?? 'no record has a label of both sides'}.
          {pairs > 0 && ` ${countText(pairs)} ${pairs === 1 ? 'record has' : 'records have'} a label of both.`}
        </p>
      ) : (
        <p>
          <strong>{wordOf(kappa)}.</strong> Kappa {figure(kappa)}
          {interval
            ? `, ${Math.round(100 * interval.level)} % interval ${figure(interval.low)} to ${figure(interval.high)}`
            : ', without an interval, as no pair disagrees'}
          , of {countText(pairs)} {pairs === 1 ? 'record' : 'records'}.
          {typeof weighted?.kappa === 'number' && ` Weighted by nearness ${figure(weighted.kappa)}.`}
        </p>
      )}
      {pairs > 0 && observed !== null && expected !== null && (
        <p className="quiet">
          They agree on {share(observed)} of {countText(pairs)}; by chance it would be {share(expected)}.
        </p>
      )}
      {rule && <p className="quiet">Labels: {rule}.</p>}
      {pairs > 0 && <Confusion labels={labels} table={table} />}
      {left.length > 0 && <p className="quiet">Left out: {left.join('; ')}.</p>}
      {found.disagreements.length > 0 && (
        <>
          <h3>Where they differ</h3>
          <ul aria-label="Where they differ" className={styles.differ}>
            {found.disagreements.map(({ record_id, judge, people }) => (
              <li key={record_id}>
                <Link to="/p/$projectId/records" params={{ projectId: run.projectId }} search={recordAt(run, kinds, record_id)}>
                  {record_id}
                </Link>{' '}
                metric {judge}, people {people}
              </li>
            ))}
          </ul>
          {found.disagreements.length === 100 && <p className="quiet">These are the newest 100.</p>}
        </>
      )}
    </section>
  );
}

/** The records that are no pairs, by what they lack. */
const leftOut = ({ judge_only, people_only, undecided, unreadable }: TemplateAgreement): string[] =>
  (
    [
      [judge_only, 'with a value and no rating'],
      [people_only, 'with a rating and no value'],
      [undecided, 'on which people are of two minds'],
      [unreadable, 'whose value or rating is no label'],
    ] as const
  ).flatMap(([count, which]) => (count > 0 ? [`${countText(count)} ${which}`] : []));

/** How many records the metric gives the label of the row, and people that of the column. */
function Confusion({ labels, table }: Pick<TemplateAgreement, 'labels' | 'table'>) {
  return (
    <div className={styles.wideTable}>
      <table className={`${list.table} ${styles.confusion}`}>
        <caption>Records by the label of the metric (rows) and of people (columns)</caption>
        <thead>
          <tr>
            <td />
            {labels.map((label) => (
              <th key={label} scope="col" className="number">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {labels.map((label, at) => (
            <tr key={label}>
              <th scope="row">{label}</th>
              {labels.map((other, column) => (
                <td key={other} className="number" data-same={at === column}>
                  {countText(table[at]?.[column])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function recordAt({ runId, isExperiment }: RunOf, kinds: readonly string[], open: string) {
  const kind = kindOfRecords(kinds);
  return { ...(isExperiment ? { experiment: runId } : { run: runId }), ...(kind === 'traces' ? {} : { kind }), open };
}
