import { comparedFigure, pText } from '../figures/comparedFigure.ts';
import type { Comparison } from './comparison.ts';

type ComparisonWithVerdict = Omit<Comparison, 'sentence'>;

/** A comparison as a sentence for people. */
export function inWords(
  comparison: ComparisonWithVerdict,
  names: { baseline: string; other: string },
  corrected: number,
): string {
  const within = comparison.slice ? ` where ${comparison.slice.column} is ${comparison.slice.value}` : '';
  const about = `${comparison.metric}${within}`;
  if (comparison.test === null)
    return `${names.other} and ${names.baseline} cannot be compared in ${about}: ${whyNot(comparison, names)}.`;
  const parts = [
    claim(comparison, about, names),
    ...(comparison.type === 'category' ? changes(comparison) : figures(comparison)),
    certainty(comparison, corrected),
  ];
  return `${parts.join('; ')}.${assumption(comparison)}${reach(comparison)}`;
}

function claim(
  { verdict }: ComparisonWithVerdict,
  about: string,
  { baseline, other }: { baseline: string; other: string },
): string {
  if (verdict === 'no difference shown') return `No difference shown between ${other} and ${baseline} in ${about}`;
  return verdict === null
    ? `${other} differs from ${baseline} in ${about}`
    : `${other} is ${verdict} than ${baseline} in ${about}`;
}

function figures(comparison: ComparisonWithVerdict): string[] {
  const show = comparedFigure(comparison);
  const { difference, interval, baseline, other } = comparison;
  if (difference === null || interval === null || baseline.mean === null || other.mean === null) return [];
  const level = `${Number((100 * interval.level).toPrecision(6))} %`;
  return [
    `${show.value(other.mean)} against ${show.value(baseline.mean)}, a difference of ${show.difference(difference)} (${level} interval ${show.difference(interval.low)} to ${show.difference(interval.high)})`,
    ...changes(comparison),
  ];
}

function changes({ better, worse, same, pairs }: ComparisonWithVerdict): string[] {
  const rows = (count: number): string => `${count} ${count === 1 ? 'row' : 'rows'}`;
  if (better === null || worse === null) return [`${rows(pairs - same)} changed, ${same} stayed the same`];
  return [`${rows(better)} better, ${worse} worse, ${same} the same`];
}

function certainty({ pValue, pAdjusted, slice }: ComparisonWithVerdict, corrected: number): string {
  const p = (value: number | null): string => {
    const text = pText(value ?? 0);
    return text.startsWith('<') ? `p ${text}` : `p = ${text}`;
  };
  if (slice) return `${p(pValue)}, exploratory: not corrected for the number of slices`;
  return corrected > 1 ? `${p(pAdjusted)}, corrected for ${corrected} comparisons` : p(pValue);
}

const assumption = ({ isDirectionAssumed, verdict, type }: ComparisonWithVerdict): string =>
  isDirectionAssumed && type !== 'category' && (verdict === 'better' || verdict === 'worse')
    ? ' Nobody has said which values are better; the higher ones were taken for it.'
    : '';

/** Returns what the rows could have shown. */
function reach(comparison: ComparisonWithVerdict): string {
  const { verdict, detectable, pairs, rowsToDecide } = comparison;
  if (verdict !== 'no difference shown' || detectable === null) return '';
  const size = comparedFigure(comparison).difference(detectable).replace('+', '');
  const more = rowsToDecide === null ? '' : ` If the difference stays as it is, about ${rowsToDecide} rows would show it.`;
  return ` ${pairs} rows find a true difference of ${size} four times out of five.${more}`;
}

function whyNot(
  { warnings, missing, pairs, type }: ComparisonWithVerdict,
  { baseline, other }: { baseline: string; other: string },
): string {
  if (warnings[0] && type === null) return warnings[0];
  if (pairs === 0 && missing > 0)
    return `no row has a value in both ${baseline} and ${other}, ${missing} have one in one of them`;
  return warnings[0] ?? 'no row has a value of it';
}
