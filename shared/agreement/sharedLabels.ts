import type { RatingValue } from '../annotations/summarize.ts';
import { foldCase } from '../identifiers/foldCase.ts';
import type { StoredConstraints, TreeChoiceNode } from '../wire/annotations.ts';
import type { MetricScale } from '../wire/metricScale.ts';

/** The type and range of a metric's values, as the catalog says before any is compared. */
export interface JudgedScale {
  dataType: 'boolean' | 'number' | 'text' | 'list';
  range: MetricScale['range'];
}

export interface Thresholds {
  /** From which number on a judge says yes. */
  judge: number | null;
  /** From which number on people say yes. */
  people: number | null;
}

/** The labels that a judge's values and people's ratings share. */
export interface SharedLabels {
  /** The mapping, in a sentence. */
  rule: string;
  thresholds: Thresholds;
  /** Labels in an order that means something, such as stars. */
  isOrdered: boolean;
  /** Those that there are in any case, in their order; others come behind them as they are met. */
  labels: readonly string[];
  /** Undefined for a value that has no label. */
  ofJudge(value: unknown): string | undefined;
  ofPeople(value: RatingValue): string | undefined;
}

const [YES, NO] = ['yes', 'no'];
const yesOrNo = (is: boolean): string => (is ? YES : NO) as string;
const spelled: ReadonlyMap<string, string> = new Map([
  ...['yes', 'true', 'pass', 'passed', 'good', 'correct', 'right', 'y', '1'].map((text) => [text, YES] as const),
  ...['no', 'false', 'fail', 'failed', 'bad', 'incorrect', 'wrong', 'n', '0'].map((text) => [text, NO] as const),
] as [string, string][]);
/** Numbers of a scale that are labels of their own; a longer scale is cut into as many parts. */
const MOST_GRADES = 10;
const DEFAULT_STARS = 4;

/** How a judge's values and ratings by this template are compared; why they cannot be. */
export function sharedLabels(
  scale: JudgedScale,
  constraints: StoredConstraints,
  given: Thresholds,
): SharedLabels | { problem: string } {
  switch (constraints.annotation_type) {
    case 'text':
      return { problem: 'free texts have no labels that could be compared' };
    case 'like_dislike':
      return yesNoLabels(scale, given, {
        says: 'a thumb up is yes',
        threshold: null,
        of: (value) => (typeof value === 'boolean' ? yesOrNo(value) : undefined),
      });
    case 'star':
      return gradeLabels(scale, { min: 1, max: 5 }, 'stars', DEFAULT_STARS, given);
    case 'score': {
      const { min, max } = constraints;
      if (min === max) return { problem: `every score is ${min}: there is nothing to tell apart` };
      return gradeLabels(scale, { min, max }, 'points', Math.ceil((min + max) / 2), given);
    }
    default:
      return namedLabels(scale, constraints, given);
  }
}

interface PeoplesSide {
  says: string;
  threshold: number | null;
  of(value: RatingValue): string | undefined;
}

function yesNoLabels(scale: JudgedScale, given: Thresholds, people: PeoplesSide): SharedLabels | { problem: string } {
  const judge = judgesYes(scale, given.judge);
  if ('problem' in judge) return judge;
  return {
    rule: `${judge.says}; ${people.says}`,
    thresholds: { judge: judge.threshold, people: people.threshold },
    isOrdered: false,
    labels: [yesOrNo(true), yesOrNo(false)],
    ofJudge: judge.of,
    ofPeople: people.of,
  };
}

interface JudgesSide {
  says: string;
  threshold: number | null;
  of(value: unknown): string | undefined;
}

function judgesYes({ dataType, range }: JudgedScale, given: number | null): JudgesSide | { problem: string } {
  if (dataType === 'boolean')
    return {
      says: 'true of the judge is yes',
      threshold: null,
      of: (value) => (typeof value === 'boolean' ? yesOrNo(value) : undefined),
    };
  if (dataType === 'number') {
    const threshold = given ?? (range ? (range.min + range.max) / 2 : null);
    if (threshold === null)
      return { problem: 'nothing says from which number on the judge says yes: give judge_threshold, or the scorer a range' };
    return {
      says: `${threshold} or more of the judge is yes`,
      threshold,
      of: (value) => (typeof value === 'number' ? yesOrNo(value >= threshold) : undefined),
    };
  }
  return {
    says: 'words such as yes, true, pass and good of the judge are yes',
    threshold: null,
    of: (value) => spelled.get(folded(value) ?? ''),
  };
}

/** Ratings that are whole numbers. */
function gradeLabels(
  scale: JudgedScale,
  people: { min: number; max: number },
  unit: string,
  usual: number,
  given: Thresholds,
): SharedLabels | { problem: string } {
  const { dataType, range } = scale;
  if (dataType !== 'number' || given.judge !== null || given.people !== null) {
    const threshold = given.people ?? usual;
    return yesNoLabels(scale, given, {
      says: `${threshold} ${unit} or more are yes`,
      threshold,
      of: (value) => (typeof value === 'number' ? yesOrNo(value >= threshold) : undefined),
    });
  }
  if (!range || range.max <= range.min)
    return {
      problem: `nothing says between which numbers the judge's values lie: give the scorer a range, or judge_threshold and people_threshold`,
    };
  const steps = people.max - people.min + 1;
  const width = Math.ceil(steps / MOST_GRADES);
  const from = (index: number): number => people.min + index * width;
  const nameOf = (index: number): string =>
    width === 1 ? String(from(index)) : `${from(index)} to ${Math.min(from(index) + width - 1, people.max)}`;
  const labels = Array.from({ length: Math.ceil(steps / width) }, (_, index) => nameOf(index));
  const labelAt = (value: number): string | undefined => {
    const nearest = Math.round(value);
    return nearest < people.min || nearest > people.max ? undefined : labels[Math.floor((nearest - people.min) / width)];
  };
  const isSame = range.min === people.min && range.max === people.max;
  const scaled = (value: number): number =>
    isSame ? value : people.min + ((value - range.min) / (range.max - range.min)) * (people.max - people.min);
  return {
    rule: isSame
      ? `values of the judge are rounded to ${unit}`
      : `values of the judge, from ${range.min} to ${range.max}, are laid on the scale from ${people.min} to ${people.max} ${unit} and rounded`,
    thresholds: { judge: null, people: null },
    isOrdered: true,
    labels,
    ofJudge: (value) => (typeof value === 'number' ? labelAt(scaled(value)) : undefined),
    ofPeople: (value) => (typeof value === 'number' ? labelAt(value) : undefined),
  };
}

/** Ratings that are words: chosen ones, or tags. */
function namedLabels(
  scale: JudgedScale,
  constraints: Extract<StoredConstraints, { annotation_type: 'tags' | 'choice' | 'tree_choice' }>,
  given: Thresholds,
): SharedLabels | { problem: string } {
  if (scale.dataType === 'boolean' || given.judge !== null)
    return yesNoLabels(scale, given, {
      says: 'words such as yes, true, pass and good of people are yes',
      threshold: null,
      of: (value) => spelled.get(folded(value) ?? ''),
    });
  const named =
    constraints.annotation_type === 'tags'
      ? constraints.tags.map((tag) => [tag, tag] as const)
      : constraints.annotation_type === 'choice'
        ? constraints.choices.map((choice) => [choice, choice] as const)
        : namesIn(constraints.choices_tree);
  // As templates spell them, so that letters of another case are no label of their own.
  const spelling = new Map(
    named.flatMap(([key, label]) => [[foldCase(key.trim()), label] as const, [foldCase(label.trim()), label] as const]),
  );
  const labelOf = (value: unknown): string | undefined => {
    const text = folded(value);
    return text === undefined ? undefined : (spelling.get(text) ?? text);
  };
  return {
    rule:
      constraints.annotation_type === 'tags' || scale.dataType === 'list'
        ? 'equal words are one label, in any case of letters; a list with one word is that word'
        : 'equal words are one label, in any case of letters',
    thresholds: { judge: null, people: null },
    isOrdered: false,
    labels: [...new Set(named.map(([, label]) => label))],
    ofJudge: labelOf,
    ofPeople: labelOf,
  };
}

/** Every node of a tree: a rating names one by its id. */
const namesIn = (nodes: readonly TreeChoiceNode[]): [id: string, label: string][] =>
  nodes.flatMap(({ id, label, children }) => [[id, label] as [string, string], ...namesIn(children)]);

/** The one text that a value is, to be compared; a list has to have one alone. */
function folded(value: unknown): string | undefined {
  const only = Array.isArray(value) ? (value.length === 1 ? value[0] : undefined) : value;
  if (typeof only !== 'string' && typeof only !== 'number' && typeof only !== 'boolean') return undefined;
  const text = foldCase(String(only).trim());
  return text === '' ? undefined : text;
}
