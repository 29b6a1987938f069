import type { Comparison, ExperimentComparison } from '../data/comparison.ts';
import { ComparedRows } from './ComparedRows.tsx';
import styles from './ComparePage.module.css';
import { Decision } from './Decision.tsx';
import { ExportMenu } from './ExportMenu.tsx';
import { MetricsMenu } from './MetricsMenu.tsx';
import { Slices } from './Slices.tsx';
import { useCompareAddress } from './useCompareAddress.ts';
import { type Beside, type VerdictLine, VerdictTable } from './VerdictTable.tsx';
import { firstMetric, isExpense, nameOf, verdictInWords, verdictsInWords } from './verdict.ts';

interface Props {
  projectId: string;
  reply: ExperimentComparison;
}

/** A comparison that was answered: one experiment by its metrics, several by one metric. */
export function Compared({ projectId, reply }: Props) {
  const [{ base = '', with: others = [], only, of, metric: wanted, rows, slice, value }] = useCompareAddress();
  const { baseline, experiments, comparisons } = reply;
  const metric = comparisons.some(({ metric_id }) => metric_id === wanted) ? wanted : firstMetric(comparisons);
  const [best] = comparisons.filter(({ metric_id }) => metric_id === metric).sort(bestFirst);
  const experiment = experiments.find(({ id }) => id === of) ?? experiments.find(({ id }) => id === best?.experiment_id);
  const ofExperiment = comparisons.filter(({ experiment_id }) => experiment_id === experiment?.id);
  const chosen = ofExperiment.find(({ metric_id }) => metric_id === metric);
  const sliced = slice !== undefined && value !== undefined ? { column: slice, value } : undefined;
  const listed = experiment && chosen && { projectId, base: baseline.id, of: experiment.id, metric: chosen.metric_id, rows };
  return (
    <>
      <section className={styles.section} aria-label="Verdicts">
        <div className={styles.verdicts}>
          <Summary reply={reply} metric={metric} />
          <MetricsMenu question={{ projectId, base, others, metrics: only }} shown={comparisons} />
          <ExportMenu reply={reply} rows={listed && { ...listed, slice: sliced }} />
        </div>
        {experiments.length === 1 ? (
          <ByMetric comparisons={ofExperiment} chosen={chosen} />
        ) : (
          <ByExperiment reply={reply} metric={metric} of={experiment?.id} />
        )}
        <Correction comparisons={comparisons} />
        {chosen && <Decision comparison={chosen} />}
      </section>
      {experiment && chosen && (
        <>
          <Slices projectId={projectId} base={baseline.id} of={experiment.id} metric={chosen.metric_id} />
          <ComparedRows {...{ projectId, baseline, experiment }} comparison={chosen} />
        </>
      )}
    </>
  );
}

/** The answer to whether it is better, in one sentence. */
function Summary({
  reply: { baseline, experiments, comparisons },
  metric,
}: {
  reply: ExperimentComparison;
  metric: string | undefined;
}) {
  const [first] = experiments;
  const ofMetric = comparisons.filter(({ metric_id }) => metric_id === metric);
  return (
    <h2 className={styles.summary}>
      {experiments.length === 1 && first
        ? verdictInWords(comparisons, first.name, baseline.name)
        : verdictsInWords(ofMetric, baseline.name)}
      .
    </h2>
  );
}

/** Says how much was compared, where the correction for it may have hidden a difference. */
function Correction({ comparisons }: { comparisons: readonly Comparison[] }) {
  const corrected = comparisons.filter(({ p_adjusted }) => p_adjusted !== null);
  const isHidden = corrected.some(({ p_value, differs, interval }) => !differs && (p_value ?? 1) < 1 - (interval?.level ?? 0.95));
  if (!isHidden) return null;
  return (
    <p className="quiet">
      Verdicts are corrected for {corrected.length} comparisons, which leaves some differences unshown. With fewer <b>metrics</b>,
      those that decide, smaller ones are found.
    </p>
  );
}

/** Quality first, then cost and time. */
const qualityFirst = (one: Comparison, two: Comparison): number => Number(isExpense(one)) - Number(isExpense(two));

function ByMetric({ comparisons, chosen }: { comparisons: readonly Comparison[]; chosen: Comparison | undefined }) {
  const [, change] = useCompareAddress();
  const lines = comparisons.toSorted(qualityFirst).map((comparison): VerdictLine => {
    const { metric_id } = comparison;
    const isChosen = comparison === chosen;
    return {
      ...{ key: metric_id, name: nameOf(comparison), comparison, isChosen },
      onChoose: () => change({ metric: metric_id, open: undefined }),
    };
  });
  return <VerdictTable label="Verdicts by metric" what="Metric" lines={lines} />;
}

function ByExperiment({
  reply,
  metric,
  of,
}: {
  reply: ExperimentComparison;
  metric: string | undefined;
  of: string | undefined;
}) {
  const [, change] = useCompareAddress();
  const { experiments, comparisons } = reply;
  const metrics = [...new Map(comparisons.toSorted(qualityFirst).map((one) => [one.metric_id, nameOf(one)]))];
  const byKey = new Map(comparisons.map((one) => [`${one.experiment_id} ${one.metric_id}`, one]));
  const lines = experiments
    .flatMap(({ id, name }): VerdictLine[] => {
      const comparison = byKey.get(`${id} ${metric}`);
      const onChoose = () => change({ of: id, open: undefined });
      return comparison ? [{ key: id, name, comparison, isChosen: id === of, onChoose }] : [];
    })
    .sort((one, two) => bestFirst(one.comparison, two.comparison));
  const beside = metrics
    .filter(([id]) => id !== metric)
    .map(
      ([id, name]): Beside => ({
        name,
        onChoose: () => change({ metric: id, open: undefined }),
        of: ({ key }) => byKey.get(`${key} ${id}`),
      }),
    );
  return (
    <>
      <label className={styles.sliced}>
        <span className="quiet">By</span>
        <select aria-label="Metric" value={metric} onChange={(event) => change({ metric: event.target.value, open: undefined })}>
          {metrics.map(([id, name]) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <VerdictTable label="Verdicts by experiment" what="Experiment" lines={lines} isOneScale beside={beside} />
    </>
  );
}

/** Those without a difference come last. */
const bestFirst = (one: Comparison, two: Comparison): number => gainOf(two) - gainOf(one);
const gainOf = ({ difference, direction }: Comparison): number =>
  difference === null ? -Number.MAX_VALUE : direction === 'lower' ? -difference : difference;
