import stringWidth from 'string-width';
import type { ExperimentProgress } from '../../client/index.ts';
import { dollars, duration, figureText } from '../../shared/figures/figureText.ts';

const LEAST_BAR = 8;
const LONGEST_BAR = 30;
/** More would not be read on one line. */
const MOST_FIGURES = 3;

/** How far a run is, on one line of at most `width` characters: what matters least is left out first. */
export function progressText(progress: ExperimentProgress, width: number): string {
  const [first = '', ...others] = progressParts(progress);
  let parts = [first];
  for (const part of others) {
    const longer = [...parts, part];
    if (LEAST_BAR + 2 + stringWidth(longer.join(', ')) > width) break;
    parts = longer;
  }
  const words = parts.join(', ');
  const room = Math.min(LONGEST_BAR, width - 2 - stringWidth(words));
  return room < LEAST_BAR ? words : `${bar(shownShare(progress), room)}  ${words}`;
}

/** The same in words alone, for a file or a log of a build. */
export const progressLine = (progress: ExperimentProgress): string => progressParts(progress).join(', ');

/** In the order of what a person wants to know first. */
function progressParts(progress: ExperimentProgress): string[] {
  const { state, message, rows_done, rows_total, rows_failed, rows_per_second, scores_done, scores_total } = progress;
  const cost = costOf(progress);
  const isScoring = rows_done >= rows_total && scores_done < scores_total;
  const rest = state === 'running' && rows_per_second ? (1_000 * (rows_total - rows_done)) / rows_per_second : undefined;
  return [
    isScoring ? `${scores_done}/${scores_total} scores` : `${rows_done}/${rows_total} rows`,
    ...(state === 'running' || state === 'completed' ? [] : [state]),
    ...(message === null || message === undefined ? [] : [message]),
    ...(rows_failed > 0 ? [`${rows_failed} failed`] : []),
    ...(rest !== undefined && !isScoring && rows_done < rows_total ? [`${duration(rest)} left`] : []),
    ...(rows_per_second && !isScoring
      ? [`${rows_per_second >= 10 ? rows_per_second.toFixed(0) : rows_per_second.toFixed(1)} rows/s`]
      : []),
    ...(cost ? [dollars(cost)] : []),
    ...(state === 'completed' ? [] : (progress.figures ?? []).slice(0, MOST_FIGURES).map(figureSoFar)),
  ];
}

const figureSoFar = ({ metric, figure, values }: NonNullable<ExperimentProgress['figures']>[number]): string =>
  `${metric} ${figureText(figure, null)} of ${values}`;

/** US dollars of the model calls and judges so far, as far as they are known. */
export const costOf = ({ usage }: Pick<ExperimentProgress, 'usage'>): number => (usage.run.cost ?? 0) + (usage.judges.cost ?? 0);

function shownShare({ rows_done, rows_total, scores_done, scores_total }: ExperimentProgress): number {
  const [done, total] =
    rows_done >= rows_total && scores_done < scores_total ? [scores_done, scores_total] : [rows_done, rows_total];
  return total === 0 ? 0 : Math.min(1, done / total);
}

function bar(share: number, width: number): string {
  const filled = Math.floor(share * width);
  return '█'.repeat(filled) + '░'.repeat(width - filled);
}
