import { RequestInvalid } from '../errors/errors.ts';
import { type MetricScale, noScale, UNIT_RANGE } from '../wire/metricScale.ts';
import type { OutputType } from '../wire/scorers.ts';
import type { Scorer, ScorerDefinition } from './scorer.ts';

type Kind = 'share' | 'number' | 'no number';

/** A scorer whose type nothing says yet may get one of numbers. */
const kindOf = (outputType: OutputType | undefined): Kind => {
  if (outputType === 'boolean' || outputType === 'percentage' || outputType === 'retrieved_chunk_list_boolean') return 'share';
  return outputType === undefined || outputType === 'count' || outputType === 'discrete' ? 'number' : 'no number';
};

type Stated = Pick<ScorerDefinition, keyof MetricScale | 'categories'>;

const labelled: readonly (OutputType | undefined)[] = ['categorical', 'multilabel', 'boolean_multilabel', undefined];

/** The output type of a scorer, where it is known before its first version. */
export const outputTypeOf = ({
  definition,
  defaultVersion,
}: Pick<Scorer, 'definition' | 'defaultVersion'>): OutputType | undefined =>
  defaultVersion?.definition.outputType ?? definition.output_type ?? definition.defaults?.output_type ?? undefined;

/** Which numbers of a scorer are better, and between which they lie: what it says itself, and what follows from its output type. */
export function scorerScale({ direction = null, range = null }: Stated, outputType: OutputType | undefined): MetricScale {
  const kind = kindOf(outputType);
  if (kind === 'no number') return noScale;
  return { direction, range: kind === 'share' ? UNIT_RANGE : range };
}

/** @throws RequestInvalid for a direction, a range or categories that values of this type cannot have. */
export function mustSuitScale({ direction, range, categories }: Stated, outputType: OutputType | undefined): void {
  const kind = kindOf(outputType);
  if (kind === 'no number' && direction)
    throw new RequestInvalid([
      {
        loc: ['body', 'direction'],
        msg: `values of type ${outputType} are no numbers: they have no direction`,
        type: 'direction',
      },
    ]);
  if (kind === 'no number' && range)
    throw new RequestInvalid([
      { loc: ['body', 'range'], msg: `values of type ${outputType} are no numbers: they have no range`, type: 'range' },
    ]);
  if (categories && !labelled.includes(outputType))
    throw new RequestInvalid([
      {
        loc: ['body', 'categories'],
        msg: `values of type ${outputType} are no labels: categories go with categorical, multilabel and boolean_multilabel`,
        type: 'categories',
      },
    ]);
  if (kind === 'share' && range && (range.min !== UNIT_RANGE.min || range.max !== UNIT_RANGE.max))
    throw new RequestInvalid([
      {
        loc: ['body', 'range'],
        msg: `the range of values of type ${outputType} is 0 to 1; scorers of type count or discrete say theirs`,
        type: 'range',
      },
    ]);
}

/**
 * Names what a scorer lacks for a verdict on its values. A scorer of labels or texts lacks nothing, nor does one that says which of its numbers are
 * better.
 */
export function scaleWarnings(scorer: Pick<Scorer, 'definition' | 'defaultVersion' | 'scorerType'>): string[] {
  if (scorer.scorerType === 'preset' || scorer.definition.direction) return [];
  const outputType = outputTypeOf(scorer);
  if (outputType === undefined || kindOf(outputType) === 'no number') return [];
  return [
    `its values of type ${outputType} have no direction, so that comparisons and gates give no verdict on them: set direction to "higher" or "lower", whichever is better`,
  ];
}
