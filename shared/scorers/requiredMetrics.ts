import { RequestInvalid } from '../errors/errors.ts';
import { foldCase } from '../identifiers/foldCase.ts';
import type { CreateScorerRequest } from '../wire/scorers.ts';
import {
  asInvalid,
  type EnabledMetric,
  type RequiredMetric,
  resolvableMetrics,
  resolveMetrics,
  type ScorerLookup,
} from './resolveMetrics.ts';
import type { Scorer, ScorerDefinition } from './scorer.ts';

/** Metrics whose values one metric gets. */
const MAX_REQUIRED = 20;

/**
 * The metrics that a scorer requires, by the names that its code or its prompt has for them. Where both lists have the same length, a name that no metric has
 * any more is that of the id in its place, as a scorer keeps it. They exist before it and are never changed, so there is no
 * circle but of a scorer that names itself.
 * @param seen the scorers that its author sees
 * @param self the scorer; absent where it is not saved
 * @param at where the request names them
 * @throws RequestInvalid for metrics that there are not, that cannot be computed, or that are too many
 */
export async function requiredMetrics(
  seen: ScorerLookup,
  { required_scorers, required_metric_ids }: Pick<CreateScorerRequest, 'required_scorers' | 'required_metric_ids'>,
  self?: Pick<Scorer, 'id' | 'name'>,
  at: readonly string[] = ['body'],
): Promise<RequiredMetric[]> {
  const places = { required_scorers: required_scorers ?? [], required_metric_ids: required_metric_ids ?? [] };
  const all = Object.values(places).flat();
  if (all.length > MAX_REQUIRED) {
    const msg = `a metric requires at most ${MAX_REQUIRED} others, not ${all.length}`;
    throw new RequestInvalid([{ loc: [...at, 'required_scorers'], msg, type: 'too_long' }]);
  }
  const names = places.required_scorers;
  const lookedUp = { ...places, required_scorers: await withIdsForOldNames(seen, names, places.required_metric_ids) };
  const found = new Map<string, RequiredMetric>();
  for (const [place, references] of Object.entries(places)) {
    const own = references.findIndex((one) => self && [self.id, foldCase(self.name)].includes(foldCase(one.trim())));
    if (own !== -1) {
      const msg = `a metric cannot require itself: ${JSON.stringify(references[own])}`;
      throw new RequestInvalid([{ loc: [...at, place, own], msg, type: 'metric_circle', input: references[own] }]);
    }
    const wanted = lookedUp[place as keyof typeof lookedUp];
    const { refused } = await resolvableMetrics(seen, wanted);
    if (refused.length > 0) throw asInvalid(refused, [...at, place]);
    for (const [index, reference] of wanted.entries()) {
      const [metric] = (await resolveMetrics(seen, [reference])) as [EnabledMetric];
      const name = place === 'required_scorers' ? (names[index] as string) : (metric.alias ?? metric.name);
      if (!found.has(metric.scorerId)) found.set(metric.scorerId, { name, metric });
    }
  }
  return [...found.values()];
}

async function withIdsForOldNames(seen: ScorerLookup, names: readonly string[], ids: readonly string[]): Promise<string[]> {
  if (names.length !== ids.length) return [...names];
  const isFound = async (reference: string) => (await resolvableMetrics(seen, [reference])).refused.length === 0;
  const references = names.map(async (name, index) => {
    const id = ids[index] as string;
    return !(await isFound(name)) && (await isFound(id)) ? id : name;
  });
  return Promise.all(references);
}

/** Required metrics as they are stored: each name beside the id, so that one that is renamed is found. */
export const namesAndIds = (required: readonly RequiredMetric[]): ScorerDefinition =>
  required.length === 0
    ? {}
    : {
        required_scorers: required.map(({ name }) => name),
        required_metric_ids: required.map(({ metric }) => metric.scorerId),
      };
