-- Times that each row of an experiment is run; row_count counts executions, so that a run of a former release stays as it is.
ALTER TABLE experiments ADD COLUMN trials integer NOT NULL DEFAULT 1;
