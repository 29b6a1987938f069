-- The id of the newest workflow, made once from names that may change later; what Temporal's own pages list a run by.
ALTER TABLE experiments ADD COLUMN workflow_id text;
UPDATE experiments SET workflow_id = 'experiment/' || run_id || '/' || workflow_number WHERE workflow_number > 0;
-- Why a run pauses, where it does so by itself.
ALTER TABLE experiments ADD COLUMN pause_reason text;
-- Why the workflow of a run does not get on, for as long as it does not.
ALTER TABLE experiments ADD COLUMN workflow_problem text;
