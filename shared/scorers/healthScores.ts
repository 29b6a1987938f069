import type { WriteHealthScoreRequest } from '../wire/healthScores.ts';
import { getScorer } from './manageScorers.ts';
import type { ScorerStore } from './scorer.ts';
import { getVersion } from './scorerVersions.ts';

/** How well a version of a scorer agreed with people, as it was noted once. */
export interface NotedHealthScore {
  id: string;
  versionId: string;
  versionNumber: number;
  datasetId: string;
  type: string;
  score: number;
  secondary: Record<string, number | null> | null;
  computedAt: Date;
}

export interface HealthScoreStore {
  add(score: Omit<NotedHealthScore, 'versionNumber' | 'computedAt'>): Promise<Date>;
  /** Reads the newest `limit` scores of all versions of a scorer in the order in which they were noted. */
  list(scorerId: string, datasetId: string, limit: number): Promise<NotedHealthScore[]>;
}

export interface HealthScoreDeps {
  scorers: Pick<ScorerStore, 'find' | 'findVersion'>;
  healthScores: HealthScoreStore;
  newId(): string;
}

/** Notes how well a version agrees with the ground truth of a dataset; what was noted before stays. @throws ServiceError `NotFound` */
export async function noteHealthScore(
  { scorers, healthScores, newId }: HealthScoreDeps,
  scorerId: string,
  versionNumber: number,
  { dataset_id: datasetId, health_score_type: type, score, secondary = null }: WriteHealthScoreRequest,
): Promise<NotedHealthScore> {
  const version = await getVersion(scorers, scorerId, versionNumber);
  const noted = { id: newId(), versionId: version.id, datasetId, type, score, secondary };
  return { ...noted, versionNumber: version.version, computedAt: await healthScores.add(noted) };
}

/** @throws ServiceError `NotFound` for a scorer that there is not */
export async function listHealthScores(
  { scorers, healthScores }: Pick<HealthScoreDeps, 'scorers' | 'healthScores'>,
  scorerId: string,
  datasetId: string,
  limit: number,
): Promise<NotedHealthScore[]> {
  const { id } = await getScorer(scorers, scorerId);
  return healthScores.list(id, datasetId, limit);
}
