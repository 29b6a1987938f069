-- `chosen`: the executions of `rerun_rows`. `scores`: no row, and the values of one metric alone.
ALTER TABLE experiments
  DROP CONSTRAINT experiments_rows_to_run_check,
  ADD CONSTRAINT experiments_rows_to_run_check CHECK (rows_to_run IN ('missing', 'failed', 'none', 'chosen', 'scores')),
  -- What the newest workflow runs again where `rows_to_run` does not say it all; `executions` is there once the rows are frozen.
  ADD COLUMN rerun jsonb;

-- The executions that the newest workflow was asked to run, as ranges of ordinals, the end excluded.
CREATE TABLE rerun_rows (
  run_id uuid NOT NULL REFERENCES experiments (run_id) ON DELETE CASCADE,
  first integer NOT NULL,
  past integer NOT NULL,
  PRIMARY KEY (run_id, first)
);
