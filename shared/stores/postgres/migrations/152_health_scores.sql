-- How well versions of scorers agreed with what people say of the rows of a dataset, as it was noted each time.
CREATE TABLE scorer_health_scores (
  id uuid PRIMARY KEY,
  scorer_version_id uuid NOT NULL REFERENCES scorer_versions (id) ON DELETE CASCADE,
  dataset_id uuid NOT NULL,
  health_score_type text NOT NULL,
  score double precision NOT NULL,
  -- Other figures by their names, each a number or null.
  secondary jsonb,
  computed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX scorer_health_scores_of_dataset ON scorer_health_scores (scorer_version_id, dataset_id, computed_at);
