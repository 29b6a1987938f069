-- By which experiments are ranked in their group.
ALTER TABLE experiments ADD COLUMN ranking_score double precision GENERATED ALWAYS AS ((aggregates ->> 'rankingScore')::double precision) STORED;
CREATE INDEX experiments_by_ranking ON experiments (group_id, ranking_score);
