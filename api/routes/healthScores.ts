import { z } from 'zod';
import type { AssetAccess } from '../../shared/assets/assetAccess.ts';
import {
  type HealthScoreDeps,
  listHealthScores,
  type NotedHealthScore,
  noteHealthScore,
} from '../../shared/scorers/healthScores.ts';
import { Uuid } from '../../shared/wire/common.ts';
import {
  HealthScoresQuery,
  MOST_HEALTH_SCORES,
  ScorerHealthScoresResponse,
  ScorerVersionHealthScoreEntry,
  WriteHealthScoreRequest,
} from '../../shared/wire/healthScores.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { VersionNumber } from '../scorers/scorerVersions.ts';

export interface HealthScoreRouteDeps extends HealthScoreDeps {
  assets: Pick<AssetAccess, 'require'>;
}

const tag = 'Scorers';

/** How well the versions of a scorer agreed with people, over time. */
export const healthScoreRoutes = (deps: HealthScoreRouteDeps): Endpoint[] => [
  endpoint({
    method: 'get',
    path: '/scorers/{scorer_id}/health-scores',
    summary: 'How well the versions of a scorer agreed with the ground truth of a dataset',
    description: `As it was noted each time, the oldest first; of more than ${MOST_HEALTH_SCORES} the newest.`,
    tag,
    access: { asset: 'scorer', action: 'read' },
    params: z.object({ scorer_id: Uuid }),
    query: HealthScoresQuery,
    response: ScorerHealthScoresResponse,
    async handle({ params, query, caller }) {
      await deps.assets.require(caller, 'dataset', query.dataset_id, 'read');
      const scores = await listHealthScores(deps, params.scorer_id, query.dataset_id, MOST_HEALTH_SCORES);
      return { scores: scores.map(toEntry) };
    },
  }),
  endpoint({
    method: 'post',
    path: '/scorers/{scorer_id}/versions/{version_number}/health-scores',
    summary: 'Note how well a version of a scorer agrees with the ground truth of a dataset',
    description:
      'The score is one that POST /projects/{project_id}/metrics-testing/{run_id}/health-score computed, or your own. What was noted before stays.',
    tag,
    access: { asset: 'scorer', action: 'update' },
    params: z.object({ scorer_id: Uuid, version_number: VersionNumber }),
    body: WriteHealthScoreRequest,
    response: ScorerVersionHealthScoreEntry,
    async handle({ params, body, caller }) {
      await deps.assets.require(caller, 'dataset', body.dataset_id, 'read');
      return toEntry(await noteHealthScore(deps, params.scorer_id, params.version_number, body));
    },
  }),
];

const toEntry = (score: NotedHealthScore): z.input<typeof ScorerVersionHealthScoreEntry> => ({
  id: score.id,
  scorer_version_id: score.versionId,
  scorer_version_number: score.versionNumber,
  dataset_id: score.datasetId,
  health_score_type: score.type,
  score: score.score,
  secondary: score.secondary,
  computed_at: score.computedAt.toISOString(),
});
