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
 * The metrics that a scorer requires, by the names that its code or its prompt has for them. They exist before it and are never changed, so there is no
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
  const found = new Map<string, RequiredMetric>();
  for (const [place, references] of Object.entries(places)) {
    const own = references.findIndex((one) => self && [self.id, foldCase(self.name)].includes(foldCase(one.trim())));
    if (own !== -1) {
      const msg = `a metric cannot require itself: ${JSON.stringify(references[own])}`;
      throw new RequestInvalid([{ loc: [...at, place, own], msg, type: 'metric_circle', input: references[own] }]);
    }
    const { refused } = await resolvableMetrics(seen, references);
    if (refused.length > 0) throw asInvalid(refused, [...at, place]);
    for (const reference of references) {
      const [metric] = (await resolveMetrics(seen, [reference])) as [EnabledMetric];
      const name = place === 'required_scorers' ? reference : (metric.alias ?? metric.name);
      if (!found.has(metric.scorerId)) found.set(metric.scorerId, { name, metric });
    }
  }
  return [...found.values()];
}

/** Required metrics as they are stored: each name beside the id, so that one that is renamed is found. */
export const namesAndIds = (required: readonly RequiredMetric[]): ScorerDefinition =>
  required.length === 0
    ? {}
    : {
        required_scorers: required.map(({ name }) => name),
        required_metric_ids: required.map(({ metric }) => metric.scorerId),
      };
