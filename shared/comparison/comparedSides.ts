import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import { isUnderWay } from '../experiments/experiment.ts';
import type { Experiment } from '../experiments/experimentStore.ts';
import { gapsText } from '../figures/gapsText.ts';
import type { RunRef } from '../projects/runs.ts';
import type { ComparedMetric } from './comparedMetrics.ts';
import type { ComparisonRequest } from './comparison.ts';
import type { ComparisonReads, RowOutline } from './comparisonReads.ts';

/** An experiment of a comparison, with what is known of its rows. */
export interface Side {
  experiment: Experiment;
  run: RunRef;
  outline: RowOutline;
  /** Names of the metrics that its rows have values of. */
  metrics: string[];
}

export interface SidesDeps {
  find(projectId: string, experimentId: string): Promise<Experiment | undefined>;
  /** The run as reads take it. */
  unexpired(run: RunRef): Promise<RunRef>;
  reads: Pick<ComparisonReads, 'outlines' | 'metrics'>;
}

/** Why metrics have no value in experiments, of those that are compared. @param metrics those that any of them has, or was to have */
export const warningsOfGaps = (sides: readonly Side[], metrics: readonly Pick<ComparedMetric, 'id' | 'name'>[]): string[] =>
  sides.flatMap((side) => {
    const valueless = valuelessMetrics(side);
    return metrics.flatMap(({ id, name }) => {
      const why = valueless.get(id)?.(name);
      return why === undefined ? [] : [`${side.experiment.name}: ${why}`];
    });
  });

/**
 * Metrics that were to be computed for an experiment and have no value in it, each with the reason, by the keys of their values.
 * @param name what people call the metric
 */
export const valuelessMetrics = ({
  experiment,
  metrics,
}: Pick<Side, 'experiment' | 'metrics'>): ReadonlyMap<string, (name: string) => string> =>
  new Map(
    Object.entries(experiment.aggregates?.counts ?? {}).flatMap(([metric, { counts, gaps = [] }]) => {
      const lacking = counts.missing + counts.failed + counts.notApplicable;
      const isThere = counts.values > 0 || gaps.length === 0 || metrics.includes(metric);
      return isThere ? [] : [[metric, (name: string) => gapsText(name, { values: 0, lacking, reasons: gaps }) ?? name] as const];
    }),
  );

export const isRunning = ({ experiment }: Side): boolean => isUnderWay(experiment.state);

/** The experiments of a request. @throws ServiceError `NotFound`, RequestInvalid */
export async function comparedSides(
  deps: SidesDeps,
  projectId: string,
  { baselineId, experimentIds }: Pick<ComparisonRequest, 'baselineId' | 'experimentIds'>,
): Promise<{ baseline: Side; others: Side[] }> {
  for (const [index, id] of experimentIds.entries()) {
    const loc = ['body', 'experiment_ids', index];
    if (id === baselineId)
      throw new RequestInvalid([
        { loc, msg: 'is the baseline itself: name the experiments that it is compared with', type: 'is_baseline' },
      ]);
    if (experimentIds.indexOf(id) < index) throw new RequestInvalid([{ loc, msg: 'is named twice', type: 'repeated' }]);
  }
  const found = await Promise.all(
    [baselineId, ...experimentIds].map(async (id) => {
      const experiment = await deps.find(projectId, id);
      if (!experiment)
        throw new ServiceError('NotFound', `no experiment ${id} in this project`, { context: { experiment_id: id } });
      return { experiment, run: await deps.unexpired({ projectId, runId: id }) };
    }),
  );
  const runs = found.map(({ run }) => run);
  const [outlines, metrics] = await Promise.all([deps.reads.outlines(runs), deps.reads.metrics(runs)]);
  const [baseline, ...others] = found.map(
    (one, index): Side => ({ ...one, outline: outlines[index] as RowOutline, metrics: metrics[index] ?? [] }),
  );
  return { baseline: baseline as Side, others };
}

/** Returns what is odd about the experiments as such. */
export function warningsOfSides(baseline: Side, others: readonly Side[]): string[] {
  const running = [baseline, ...others]
    .filter(isRunning)
    .map(
      ({ experiment: { name, rowCount }, outline }) =>
        `${name} still runs: compared so far, with ${outline.rows} of ${rowCount ?? 'its'} rows`,
    );
  const failed = [baseline, ...others]
    .filter(({ outline }) => outline.rows > 0 && outline.failed === outline.rows)
    .map(({ experiment: { name }, outline }) => `all ${outline.rows} rows of ${name} failed`);
  const ofOthers = others
    .filter(
      ({ experiment: { dataset } }) => dataset && baseline.experiment.dataset && dataset.id !== baseline.experiment.dataset.id,
    )
    .map(({ experiment: { name } }) => `${name} ran another dataset than the baseline: rows were matched by their input`);
  return [...running, ...failed, ...ofOthers];
}
