-- Ranks are counted part by part, each after the last experiment of the one before.
DROP INDEX experiments_by_ranking;
CREATE INDEX experiments_by_ranking ON experiments (group_id, ranking_score, run_id);
