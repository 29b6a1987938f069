-- Wishes to score records of a run. The records are marked in the record store first; what is marked there is what is still to be scored.
CREATE TABLE scorings (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  run_id uuid NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  scorer_ids uuid[] NOT NULL,
  -- Filter, order and page as JSON text: the filter's texts may hold what jsonb refuses.
  selection text NOT NULL,
  -- requested: not marked yet; running: marked; completed, failed: ended.
  state text NOT NULL DEFAULT 'requested' CHECK (state IN ('requested', 'running', 'completed', 'failed')),
  values_total bigint NOT NULL DEFAULT 0,
  values_done bigint NOT NULL DEFAULT 0,
  -- Marks up to this version are this wish's.
  marked_to bigint,
  error text,
  created_by uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  ended_at timestamptz
);
CREATE INDEX scorings_by_run ON scorings (run_id);
CREATE INDEX scorings_by_project ON scorings (project_id);
CREATE INDEX scorings_unended ON scorings (run_id, created_at) WHERE state IN ('requested', 'running');

-- A job follows a run's workflow or, with this, a scoring.
ALTER TABLE jobs ADD COLUMN scoring_id uuid REFERENCES scorings (id) ON DELETE CASCADE;
CREATE INDEX jobs_by_scoring ON jobs (scoring_id);

-- How far a log stream's new records are scored. Records from before `scored_from` are scored only when somebody asks for it.
ALTER TABLE run_scorer_settings ADD COLUMN scored_from timestamptz NOT NULL DEFAULT clock_timestamp();
-- When the last look for new records began, and when records were last seen to be written.
ALTER TABLE run_scorer_settings ADD COLUMN looked_at timestamptz NOT NULL DEFAULT clock_timestamp();
ALTER TABLE run_scorer_settings ADD COLUMN written_at timestamptz;
