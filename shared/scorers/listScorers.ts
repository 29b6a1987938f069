import type { ScorerFilter, ScorerSort } from '../wire/scorerLists.ts';
import { builtinByOtherName } from './presets.ts';
import type { Scorer, ScorerStore } from './scorer.ts';
import { collectionFits, textFits } from './textFits.ts';

/**
 * The scorers of `all` that fit every filter, in their order unless a sort is given. There are hundreds of them at most, so they are filtered here
 * and one rule holds for built-ins and stored ones alike.
 */
export async function listScorers(
  store: Pick<ScorerStore, 'enabledIn'>,
  all: readonly Scorer[],
  request: { filters: readonly ScorerFilter[]; sort: ScorerSort | null },
): Promise<Scorer[]> {
  const found = request.filters.reduce<Scorer[]>((scorers, filter) => scorers.filter(filterOver(filter, all)), [...all]);
  return request.sort ? sort(store, found, request.sort) : found;
}

type Test = (scorer: Scorer) => boolean;

function filterOver(filter: ScorerFilter, all: readonly Scorer[]): Test {
  switch (filter.name) {
    case 'name':
      return firstPlace(filter, all, looksForOne(filter) ? [byName, byOtherName] : [byName]);
    case 'label':
      if (filter.strict) return firstPlace(filter, all, [byLabel]);
      return firstPlace(filter, all, looksForOne(filter) ? [byLabel, byName, byOtherName] : [byLabel, byName]);
    case 'id':
      return (scorer) => textFits(filter, [scorer.id], false);
    case 'creator':
      return (scorer) => textFits(filter, scorer.createdBy === null ? [] : [scorer.createdBy], false);
    case 'scorer_type':
      return (scorer) => textFits(filter, [scorer.scorerType], true);
    case 'model_type':
      return (scorer) => textFits(filter, [scorer.definition.model_type ?? ''], true);
    case 'tags':
      return (scorer) => collectionFits(filter, scorer.definition.tags ?? []);
    case 'scoreable_node_types':
      return (scorer) => collectionFits(filter, nodeTypesOf(scorer) ?? []);
    case 'multimodal_capabilities':
      return (scorer) => collectionFits(filter, scorer.definition.multimodal_capabilities ?? []);
    case 'created_at':
      return (scorer) => compares(filter, scorer.createdAt);
    case 'updated_at':
      return (scorer) => compares(filter, scorer.updatedAt);
    case 'is_global':
      return (scorer) => (isGlobal(scorer) === filter.value) === (filter.operator === 'eq');
    case 'scope_projects':
      return (scorer) =>
        (filter.include_global && isGlobal(scorer)) || scorer.scopeProjects.some(({ id }) => filter.project_ids.includes(id));
    case 'exclude_slm_scorers':
      return (scorer) => scorer.definition.model_type !== 'slm';
    case 'exclude_multimodal_scorers':
      return (scorer) => !scorer.definition.multimodal_capabilities?.length;
    default:
      return filter satisfies never;
  }
}

export const isGlobal = (scorer: Scorer): boolean => scorer.definition.is_global ?? scorer.scopeProjects.length === 0;

/** Returns the kinds of records that a scorer names, or else those of its default version. */
export const nodeTypesOf = (scorer: Scorer): string[] | null =>
  scorer.definition.scoreable_node_types ?? scorer.defaultVersion?.definition.nodeTypes ?? null;

export const labelOf = (scorer: Scorer): string => scorer.definition.label || scorer.name;

const looksForOne = ({ operator }: { operator: string }): boolean => operator === 'eq' || operator === 'one_of';

/** Returns the texts of a scorer that a filter compares with this value; undefined where it has none. */
type Place = (value: string) => (scorer: Scorer) => string | undefined;

const byLabel: Place = () => labelOf;
const byName: Place = () => (scorer) => scorer.name;
/** The built-in metric that clients know by this key or older name. */
const byOtherName: Place = (value) => {
  const id = builtinByOtherName(value)?.scorerId;
  return (scorer) => (scorer.id === id ? value : undefined);
};

/**
 * A filter of which each wanted value is looked for in the first of these places where any scorer has it. With `strict` false a label that no scorer has
 * is looked for among the names: that is how clients find a metric by either.
 */
function firstPlace(
  filter: Extract<ScorerFilter, { name: 'label' | 'name' }>,
  all: readonly Scorer[],
  places: readonly Place[],
): Test {
  const operator = filter.operator === 'contains' ? 'contains' : 'eq';
  const tests = [filter.value].flat().flatMap((value): Test[] => {
    const byPlace = places.map((place): Test => {
      const textOf = place(value);
      return (scorer) => {
        const text = textOf(scorer);
        return text !== undefined && textFits({ operator, value }, [text], filter.case_sensitive);
      };
    });
    const first = byPlace.find((test) => all.some(test));
    return first ? [first] : [];
  });
  const negative = filter.operator === 'ne' || filter.operator === 'not_in';
  return (scorer) => tests.some((test) => test(scorer)) !== negative;
}

/** Built-ins have no times: they are neither before nor after any. */
function compares(filter: { operator: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte'; value: string }, time: Date | null): boolean {
  if (time === null) return filter.operator === 'ne';
  const difference = time.getTime() - new Date(hasOffset(filter.value) ? filter.value : `${filter.value}Z`).getTime();
  return {
    eq: difference === 0,
    ne: difference !== 0,
    gt: difference > 0,
    gte: difference >= 0,
    lt: difference < 0,
    lte: difference <= 0,
  }[filter.operator];
}

const hasOffset = (time: string): boolean => /(?:Z|[+-]\d{2}:?\d{2})$/i.test(time);

async function sort(store: Pick<ScorerStore, 'enabledIn'>, scorers: Scorer[], by: ScorerSort): Promise<Scorer[]> {
  const enabled = new Set(by.name === 'enabled_in_run' ? await store.enabledIn(by.value) : []);
  const rank = (scorer: Scorer): number =>
    by.name === 'updated_at' ? (scorer.updatedAt?.getTime() ?? 0) : enabled.has(scorer.id) ? 0 : 1;
  const direction = by.ascending ? 1 : -1;
  const byName = (a: Scorer, b: Scorer) => a.name.localeCompare(b.name, 'en') || (a.id < b.id ? -1 : 1);
  return [...scorers].sort((a, b) => direction * (by.name === 'name' ? byName(a, b) : rank(a) - rank(b)) || byName(a, b));
}
