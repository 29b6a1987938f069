-- Checks of the code of metrics, for whoever asked to fetch what came of them.
CREATE TABLE code_validations (
  id uuid PRIMARY KEY,
  created_by uuid NOT NULL,
  -- Null while it goes on.
  result jsonb,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX code_validations_age ON code_validations (created_at);
