import { type CodeLanguage, languageOf, noValue, scoringFunction } from '../codeMetrics/codeLanguage.ts';
import type { Metric } from '../metrics/metric.ts';
import type { RecordKind } from '../wire/recordKinds.ts';
import type { CodeScoreType, OutputType } from '../wire/scorers.ts';
import { recordForCode } from './recordForCode.ts';
import type { CodeDefinition, Scorer } from './scorer.ts';
import { suitedRollUp } from './scorerAsMetric.ts';
import { scorerScale } from './scorerScale.ts';

type Form = Pick<Metric, 'dataUnit' | 'rollUp'>;

const dataTypes = { bool: 'boolean', int: 'integer', float: 'floating_point', str: 'text' } as const;
export const dataTypeOf = (scoreType: CodeScoreType) => dataTypes[scoreType];

/** How values of a type are kept, by the output types that suit it; the first is that of a scorer that states none. */
const forms: Record<CodeScoreType, Partial<Record<OutputType, Form>>> = {
  bool: { boolean: { dataUnit: null, rollUp: 'percentage_true' } },
  int: {
    count: { dataUnit: null, rollUp: 'average' },
    discrete: { dataUnit: null, rollUp: 'average' },
  },
  float: {
    discrete: { dataUnit: null, rollUp: 'average' },
    count: { dataUnit: null, rollUp: 'average' },
    percentage: { dataUnit: 'percentage', rollUp: 'average' },
  },
  str: {
    categorical: { dataUnit: null, rollUp: 'category_count' },
    freeform: { dataUnit: null, rollUp: 'category_count' },
  },
};

/** Output types that values of this type may have, its own first. */
export const outputTypesOf = (scoreType: CodeScoreType): OutputType[] => Object.keys(forms[scoreType]) as OutputType[];

/** The type of values of code that does not say it: one that suits the output type of its scorer. @param usual where there are several, or none */
export function typeSuiting(outputType: OutputType, usual: CodeScoreType): CodeScoreType {
  if (outputTypesOf(usual).includes(outputType)) return usual;
  return (['bool', 'float', 'str'] as const).find((type) => outputTypesOf(type).includes(outputType)) ?? usual;
}

/** How code says the type of its values. */
const sayingType = { python: 'annotate what it returns', javascript: 'export its scoreType' } as const;

type Value = number | boolean | string;
const typeNames = { boolean: 'bool', number: 'float', string: 'str' } as const;
const nameOf = (value: Value) => typeNames[typeof value as keyof typeof typeNames];

/** The type that fits all of these values; numbers where there are none. */
export function typeOfValues(values: readonly Value[]): CodeScoreType {
  const [first, ...others] = new Set(values.map(nameOf));
  return first === undefined || others.length > 0 ? 'float' : first;
}

/** A value of code as one of its type, or why it is none. Code that says its type gives no others. */
export function fitted(value: Value, scoreType: CodeScoreType, language: CodeLanguage): { value: Value } | { error: string } {
  const isNumber = scoreType === 'float' || (scoreType === 'int' && Number.isInteger(Number(value)));
  if (isNumber && typeof value !== 'string') return { value: Number(value) };
  if (nameOf(value) === scoreType) return { value };
  return {
    error: `${scoringFunction[language]} gave ${JSON.stringify(value).slice(0, 100)} of the type ${nameOf(value)}; its score type is ${scoreType}: ${sayingType[language]}`,
  };
}

/** Code that names them looks at what is below a record; it is read only then. */
const LOOKS_BELOW = /\b(?:spans|traces)\b/;

/** A metric of code. Its column is named by the scorer's id, as that of a judge is. */
export function codeMetric(
  scorer: Pick<Scorer, 'id' | 'name' | 'definition'>,
  { code, scoreType, outputType, nodeTypes }: CodeDefinition,
): Metric {
  const form = forms[scoreType][outputType];
  if (!form) throw new TypeError(`code of the type ${scoreType} gives no values of the type ${outputType}`);
  return {
    name: scorer.id,
    alias: scorer.name,
    label: scorer.definition.label || scorer.name,
    description: scorer.definition.description ?? '',
    groupLabel: 'Custom Metrics',
    ...form,
    dataType: dataTypeOf(scoreType),
    rollUp: suitedRollUp(scorer.definition.roll_up_method, form.rollUp),
    outputType,
    threshold: null,
    ...scorerScale(scorer.definition, outputType),
    kinds: nodeTypes as RecordKind[],
    needs: 'code',
    ...(LOOKS_BELOW.test(code) ? { readsSpans: true as const } : {}),
    needsReference: scorer.definition.ground_truth === true,
    async score(record, { runCode }) {
      if (scorer.definition.ground_truth === true && record.datasetOutput === null)
        return { notApplicable: 'the record has no reference output' };
      if (!runCode) return { error: 'there is no interpreter for code here' };
      const outcome = await runCode(code, recordForCode(record));
      if ('error' in outcome) return outcome;
      const language = languageOf(code);
      if ('none' in outcome) return { notApplicable: `${scoringFunction[language]} gave ${noValue[language]}` };
      const { metadata } = outcome;
      const fit = fitted(outcome.value, scoreType, language);
      if ('error' in fit) return fit;
      const { value } = fit;
      if (outputType === 'percentage' && typeof value === 'number' && (value < 0 || value > 1))
        return { error: `${scoringFunction[language]} gave ${value}; a percentage is a fraction between 0 and 1` };
      return { value, ...(metadata === null ? {} : { metadata }) };
    },
  };
}
