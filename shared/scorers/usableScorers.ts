import { isGlobal } from './listScorers.ts';
import type { ScorerLookup } from './resolveMetrics.ts';
import type { Scorer } from './scorer.ts';

/**
 * The store in which a request looks up the metrics that it uses in projects. A run keeps what it has. Besides, no scorer is taken that is deleted, and
 * none, named or required, that is limited to other projects.
 * @param projectIds where it must be usable, in each of them
 * @param kept the ids of the scorers that the run has
 */
export function usableScorers(
  store: ScorerLookup,
  projectIds: readonly string[],
  kept: ReadonlySet<string> = new Set(),
): ScorerLookup {
  return {
    list: () => store.list(),
    findVersionById: (id) => store.findVersionById(id),
    findEver: async (ids) => (await store.findEver(ids)).filter((scorer) => !scorer.deleted || kept.has(scorer.id)),
    refusal: (scorer, named = scorer) =>
      kept.has(named.id) || projectIds.every((id) => isUsableIn(scorer, id))
        ? undefined
        : `the scorer ${JSON.stringify(scorer.name)} is limited to other projects; PUT /v2/scorers/${scorer.id}/scope adds this one`,
  };
}

/** A scorer whose projects are all deleted is limited to none. */
const isUsableIn = (scorer: Scorer, projectId: string): boolean =>
  isGlobal(scorer) || scorer.scopeProjects.length === 0 || scorer.scopeProjects.some(({ id }) => id === projectId);
