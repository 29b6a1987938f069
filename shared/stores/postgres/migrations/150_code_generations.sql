-- Code of metrics that a model writes from a sentence, for whoever asked to fetch it.
CREATE TABLE code_generations (
  id uuid PRIMARY KEY,
  created_by uuid NOT NULL,
  -- Null while the model is at work; the code alone where it can be used.
  code text,
  problem text,
  is_done boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX code_generations_age ON code_generations (created_at);
