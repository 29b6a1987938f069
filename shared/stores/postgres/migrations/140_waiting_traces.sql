-- Traces of spans without a root, as their highest span will open them: what a process was waiting with when it died is opened by the next. `opens_at` is
-- when the wait is over.
CREATE TABLE waiting_traces (
  trace_id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  run jsonb NOT NULL,
  record jsonb NOT NULL,
  opens_at timestamptz NOT NULL
);
CREATE INDEX waiting_traces_opens_at ON waiting_traces (opens_at);
CREATE INDEX waiting_traces_project_id ON waiting_traces (project_id);
