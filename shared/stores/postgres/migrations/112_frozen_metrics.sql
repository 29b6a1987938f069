-- What the values and marks of a run were, or are to be, made by: each definition once, under the id of what it computes.
CREATE TABLE frozen_metrics (
  run_id uuid NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  version uuid NOT NULL,
  scorer_id uuid NOT NULL,
  -- JSON text: prompts may hold what jsonb refuses.
  definition text NOT NULL,
  frozen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (run_id, version)
);

-- The metrics of an experiment's newest workflow, frozen at its start.
CREATE TABLE run_metrics (
  run_id uuid PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
  workflow_number integer NOT NULL,
  -- In the order of the settings.
  versions uuid[] NOT NULL,
  -- Both in microseconds, as the versions of records and values are: values that failed before the first are computed again, and rows recorded
  -- before the second were looked at.
  frozen_at bigint NOT NULL,
  looked_to bigint NOT NULL DEFAULT 0
);
