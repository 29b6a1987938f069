import { isGlobal } from './listScorers.ts';
import type { ScorerLookup } from './resolveMetrics.ts';
import type { Scorer } from './scorer.ts';

/**
 * The store in which a request looks up the metrics that it switches on for a run. The run keeps what it has. Besides, it takes no scorer that is deleted,
 * and none that is limited to other projects.
 * @param kept the ids of the scorers that the run has
 */
export function scorersForRun(store: ScorerLookup, projectId: string, kept: ReadonlySet<string> = new Set()): ScorerLookup {
  return {
    list: () => store.list(),
    findVersionById: (id) => store.findVersionById(id),
    findEver: async (ids) => (await store.findEver(ids)).filter((scorer) => !scorer.deleted || kept.has(scorer.id)),
    refusal: (scorer) =>
      kept.has(scorer.id) || isInProject(scorer, projectId)
        ? undefined
        : `the scorer ${JSON.stringify(scorer.name)} is limited to other projects; PUT /v2/scorers/${scorer.id}/scope adds this one`,
  };
}

/** A scorer whose projects are all deleted is limited to none. */
const isInProject = (scorer: Scorer, projectId: string): boolean =>
  isGlobal(scorer) || scorer.scopeProjects.length === 0 || scorer.scopeProjects.some(({ id }) => id === projectId);
