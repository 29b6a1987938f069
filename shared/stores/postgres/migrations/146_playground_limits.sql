-- What the playground of a project may use; null: no limit.
ALTER TABLE projects ADD COLUMN playground_most_calls integer CHECK (playground_most_calls > 0);
ALTER TABLE projects ADD COLUMN playground_most_usd_per_day numeric CHECK (playground_most_usd_per_day > 0);

-- Calls of playgrounds, today's and yesterday's. Money is exact: sums of decimal fractions are compared with a limit.
CREATE TABLE playground_calls (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  -- Of the call's start, in UTC.
  day date NOT NULL,
  -- A call that has not ended runs until then, unless its process says that it still does.
  runs_until timestamptz NOT NULL,
  ended_at timestamptz,
  -- Null: unknown. The estimate stands for the cost until that is known.
  estimate_usd numeric,
  cost_usd numeric
);
CREATE INDEX playground_calls_of_project ON playground_calls (project_id, day);
