-- The name that an experiment was run under: the same for all runs that a client told apart by a time behind it. It follows a change of the name.
ALTER TABLE runs ADD COLUMN series text
  GENERATED ALWAYS AS (regexp_replace(name, ' \d{4}-\d\d-\d\d at \d\d:\d\d:\d\d\.\d{3}$', '')) STORED;
CREATE INDEX experiments_by_series ON runs (project_id, series, created_at) WHERE kind = 'experiment';

-- Who said that an experiment may stand as a baseline, and what its newest gate came to.
ALTER TABLE experiments
  ADD COLUMN approved_at timestamptz,
  ADD COLUMN approved_by uuid,
  ADD COLUMN gate_status text CHECK (gate_status IN ('passed', 'failed', 'undecided')),
  ADD COLUMN gated_at timestamptz;
