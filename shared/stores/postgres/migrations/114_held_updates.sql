-- Updates of records that have not come yet, in order of arrival. They are applied when the record is stored and count for nothing from then on.
CREATE TABLE held_updates (
  number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id uuid NOT NULL,
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  record_id uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('trace', 'span')),
  -- JSON text: inputs and outputs may hold what jsonb refuses.
  change text NOT NULL,
  bytes integer NOT NULL,
  held_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX held_updates_record ON held_updates (run_id, record_id);
CREATE INDEX held_updates_project ON held_updates (project_id, held_at) INCLUDE (bytes);
