-- Records of an experiment that were deleted while its workflow of this number ran: a retry of that workflow does not record them again.
CREATE TABLE deleted_rows (
  run_id uuid NOT NULL REFERENCES experiments (run_id) ON DELETE CASCADE,
  record_id uuid NOT NULL,
  workflow_number integer NOT NULL,
  PRIMARY KEY (run_id, record_id, workflow_number)
);
