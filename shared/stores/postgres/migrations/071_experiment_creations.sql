-- A creation that is repeated with the same Idempotency-Key by the same caller gets the experiment that the first one made.
CREATE TABLE experiment_creations (
  project_id uuid NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  created_by uuid NOT NULL,
  key text NOT NULL,
  -- SHA-256 of the request in hex: a key with another request is a mistake of the client.
  request_hash text NOT NULL,
  run_id uuid NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  CONSTRAINT experiment_creations_key PRIMARY KEY (project_id, created_by, key)
);
CREATE INDEX experiment_creations_run ON experiment_creations (run_id);
