import { useQuery } from '@tanstack/react-query';
import { type ComparisonQuestion, choosableQuery, type ExperimentComparison } from '../data/comparison.ts';
import { countText } from '../parts/format.ts';
import styles from './ComparePage.module.css';
import { ExperimentMenu } from './ExperimentMenu.tsx';
import { useCompareAddress } from './useCompareAddress.ts';

interface Props {
  projectId: string;
  question?: ComparisonQuestion;
  reply?: ExperimentComparison | undefined;
}

/** Says what is compared with what, and how well their rows match. */
export function CompareHead({ projectId, question, reply }: Props) {
  const [{ base, with: others = [] }, change] = useCompareAddress();
  const { data: newest = [] } = useQuery(choosableQuery(projectId, ''));
  const known = [...(reply ? [reply.baseline, ...reply.experiments] : []), ...newest];
  const nameOf = (id: string | undefined) => known.find((one) => one.id === id)?.name;
  const only = others.length === 1 ? others[0] : undefined;
  const forgotten = { of: undefined, open: undefined, slice: undefined, value: undefined };
  return (
    <header className={styles.head}>
      <h1>{titleOf(question, reply)}</h1>
      <div className={styles.pickers}>
        <ExperimentMenu
          {...{ projectId, label: 'Baseline', chosen: base === undefined ? [] : [base] }}
          shown={base === undefined ? 'choose' : (nameOf(base) ?? `${base.slice(0, 8)}…`)}
          onChoose={([id]) => change({ base: id, with: others.filter((one) => one !== id), ...forgotten })}
        />
        {only !== undefined && base !== undefined && (
          <button
            type="button"
            className="plain"
            aria-label="Swap the two"
            title="Swap the two"
            onClick={() => change({ base: only, with: [base], ...forgotten })}
          >
            ⇄
          </button>
        )}
        <ExperimentMenu
          {...{ projectId, label: 'With', chosen: others, without: base, isMany: true }}
          shown={
            only === undefined
              ? others.length === 0
                ? 'choose'
                : `${others.length} experiments`
              : (nameOf(only) ?? `${only.slice(0, 8)}…`)
          }
          onChoose={(ids) => change({ with: ids.length > 0 ? ids : undefined, ...forgotten })}
        />
      </div>
      {!question && (
        <p className="quiet">
          Choose a baseline, and what is compared with it: is it better, on which rows, and how sure is that?
        </p>
      )}
      {reply && <p className="quiet">{matched(reply)}</p>}
    </header>
  );
}

function titleOf(question: ComparisonQuestion | undefined, reply: ExperimentComparison | undefined): string {
  if (!question || !reply) return 'Compare experiments';
  const { baseline, experiments } = reply;
  const [first] = experiments;
  return experiments.length === 1 && first
    ? `${first.name} against ${baseline.name}`
    : `${experiments.length} experiments against ${baseline.name}`;
}

const by = { dataset_row: 'their row of the dataset', dataset_input: 'their dataset input', input: 'their input' };

/** `1,319 rows matched by their row of the dataset, 2 changed, 1 only in agent` */
function matched({ baseline, experiments }: ExperimentComparison): string {
  const [one] = experiments;
  if (!one) return '';
  if (experiments.length > 1) {
    const counts = experiments.map(({ matched_rows }) => matched_rows ?? 0);
    const [least, most] = [Math.min(...counts), Math.max(...counts)];
    const odd = experiments.filter((each) => each.changed_rows || each.only_in_baseline || each.only_in_experiment).length;
    const lacking = odd === 0 ? '' : ` · ${odd} with rows that are changed or on one side only`;
    return `${least === most ? countText(least) : `${countText(least)} to ${countText(most)}`} rows of each matched${lacking}`;
  }
  const { matched_by, matched_rows, changed_rows, only_in_baseline, only_in_experiment, failed_rows } = one;
  return [
    `${countText(matched_rows)} rows matched by ${by[matched_by ?? 'input']}`,
    `${countText(changed_rows)} changed`,
    ...(only_in_baseline ? [`${countText(only_in_baseline)} only in ${baseline.name}`] : []),
    ...(only_in_experiment ? [`${countText(only_in_experiment)} only in ${one.name}`] : []),
    ...(baseline.failed_rows + failed_rows > 0
      ? [`failed: ${countText(baseline.failed_rows)} of ${baseline.name}, ${countText(failed_rows)} of ${one.name}`]
      : []),
  ].join(' · ');
}
