import type { ReactNode } from 'react';
import { type Experiment, figuresOf, type MetricFigures, type Progress, tagsOf } from '../data/experiments.ts';
import { MetricFigure } from '../figures/MetricFigure.tsx';
import { type Domain, unitText } from '../figures/metricFigure.ts';
import { costText, countText, lineText, UNKNOWN } from '../parts/format.ts';
import type { Preferences } from '../parts/preferences.ts';
import { timeIn } from '../parts/Time.tsx';
import styles from './ExperimentTable.module.css';
import { type CatalogColumn, rowsOf } from './experimentColumns.ts';
import { stateOf } from './stateOf.tsx';

interface Props {
  experiment: Experiment;
  column: CatalogColumn;
  domain: Domain | undefined;
  /** The progress of a run that goes on. */
  progress: Progress | undefined;
  zone: Preferences['zone'];
}

/** Returns an experiment's value of a column, but for its name. It is no component, nor are its parts: hundreds are filled at once when the table is sorted. */
export function cellOf({ experiment, column, domain, progress, zone }: Props): ReactNode {
  const { id, figure, measured } = column;
  if (figure) {
    const soFar = progress?.figures?.find(({ metric }) => metric === figure.metric || metric === column.label);
    if (soFar) return MetricFigure({ figures: onlyFigure(soFar.figure), column: figure, domain, soFar: soFar.values });
    return MetricFigure({ figures: figuresOf(experiment, figure.metric), column: figure, domain });
  }
  if (id === 'total_cost') return costText((progress ?? experiment).usage?.run.cost);
  if (measured) return unitText(figuresOf(experiment, measured.metric)?.figure, measured.unit);
  switch (id) {
    case 'state':
      return stateOf(experiment);
    case 'rows':
      return progress ? `${countText(progress.rows_done)}/${countText(progress.rows_total)}` : countText(rowsOf(experiment).rows);
    case 'rows_failed':
      return failed(progress ? progress.rows_failed : rowsOf(experiment).failed);
    case 'created_at':
    case 'updated_at':
      return timeIn(experiment[id], zone);
    case 'created_by':
      return lineText(experiment.created_by_user?.email);
    case 'tags':
      return tags(experiment);
    case 'gate':
      return experiment.gate ? (
        <span className={styles.gate} data-gate={experiment.gate.status}>
          {experiment.gate.status}
        </span>
      ) : (
        UNKNOWN
      );
    case 'approved':
      return experiment.approved_at ? timeIn(experiment.approved_at, zone) : UNKNOWN;
    case 'dataset':
      return versioned(experiment.dataset);
    case 'prompt':
      return versioned(experiment.prompt);
    default:
      return lineText((experiment as unknown as Record<string, unknown>)[id]);
  }
}

const onlyFigure = (figure: number): MetricFigures => ({ figure, figures: null, interval: null, counts: null });

function failed(count: number | undefined): ReactNode {
  return <span className={count ? 'bad' : 'quiet'}>{countText(count)}</span>;
}

function tags(experiment: Experiment): ReactNode {
  const all = tagsOf(experiment);
  if (all.length === 0) return UNKNOWN;
  return (
    <span className={styles.tags} title={all.map(({ key, value }) => `${key}=${value}`).join('\n')}>
      {all.map(({ key, value }) => (
        <span key={key} className={styles.tag}>
          <span className="quiet">{key}</span> {value}
        </span>
      ))}
    </span>
  );
}

const versioned = (thing: { name: string | null; version_index: number } | null): string =>
  thing ? `${thing.name ?? UNKNOWN} v${thing.version_index}` : UNKNOWN;
