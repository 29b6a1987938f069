import type { MetricNeed } from '../wire/scorers.ts';
import { checkAsMetric } from './checks/checkAsMetric.ts';
import { codeMetric } from './codeMetric.ts';
import { builtinById, presetById } from './presets.ts';
import { requirementsOf } from './resolveMetrics.ts';
import type { Scorer, ScorerStore } from './scorer.ts';
import { scorerAsMetric } from './scorerAsMetric.ts';

/** These scorers by their ids, with those that they require, at any depth. */
export async function withRequiredScorers(
  store: Pick<ScorerStore, 'findEver'>,
  scorers: readonly Scorer[],
): Promise<ReadonlyMap<string, Scorer>> {
  const all = new Map(scorers.map((scorer) => [scorer.id, scorer]));
  for (let added = scorers; added.length > 0; ) {
    const ids = new Set(added.flatMap(requirementsOf).map(({ id }) => id));
    const lacking = [...ids].filter((id) => !all.has(id) && !presetById(id));
    added = lacking.length > 0 ? await store.findEver(lacking) : [];
    for (const scorer of added) all.set(scorer.id, scorer);
  }
  return all;
}

/**
 * Returns what a value of a scorer needs: a judge, of its own or of a metric that it requires, and parts of the record.
 * @param scorers those that it requires among them
 */
export function scorerNeeds(scorer: Scorer, scorers: ReadonlyMap<string, Scorer>): MetricNeed[] {
  const seen = new Set<string>();
  const asksJudge = (one: Scorer | undefined): boolean => {
    if (!one || seen.has(one.id)) return false;
    seen.add(one.id);
    return (
      ownNeeds(one).includes('judge_model') || requirementsOf(one).some(({ id }) => asksJudge(presetById(id) ?? scorers.get(id)))
    );
  };
  const own = ownNeeds(scorer);
  return asksJudge(scorer) && !own.includes('judge_model') ? ['judge_model', ...own] : own;
}

/** The same without what its required metrics need. Of a scorer without a version, what is known of its type. */
export function ownNeeds(scorer: Scorer): MetricNeed[] {
  const { defaultVersion, scorerType } = scorer;
  const definition = defaultVersion?.definition;
  const { check } = scorer.definition;
  const own = definition && ('code' in definition ? codeMetric(scorer, definition) : scorerAsMetric(scorer, definition));
  const metric = builtinById(scorer.id) ?? (check ? checkAsMetric(scorer, check) : own);
  if (!metric) return scorerType === 'llm' ? ['judge_model'] : [];
  const { needs, needsReference, needsParts = [] } = metric;
  const all: MetricNeed[] = [
    // A check names its model itself.
    ...(needs === 'judge' && !check ? (['judge_model'] as const) : []),
    ...(needsReference ? (['reference_output'] as const) : []),
    ...needsParts,
  ];
  return [...new Set(all)];
}
