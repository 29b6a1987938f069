-- Datasets whose rows a model makes: what was asked for, and the rows that have come.
CREATE TABLE dataset_extensions (
  dataset_id uuid PRIMARY KEY REFERENCES datasets ON DELETE CASCADE,
  request jsonb NOT NULL,
  rows jsonb NOT NULL DEFAULT '[]',
  -- Answers of the model that were taken in, so that one is taken in once.
  batches integer NOT NULL DEFAULT 0,
  -- Answers in a row that brought nothing new.
  fruitless integer NOT NULL DEFAULT 0,
  state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'completed', 'failed')),
  message text,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX dataset_extensions_running ON dataset_extensions (created_at) WHERE state = 'running';
