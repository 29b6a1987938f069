-- Queues of records that people rate. A queue belongs to no project: it holds records of any.
CREATE TABLE annotation_queues (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  description text,
  created_by uuid NOT NULL REFERENCES users,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX annotation_queues_name ON annotation_queues (name);

CREATE TABLE annotation_queue_users (
  id uuid PRIMARY KEY,
  queue_id uuid NOT NULL REFERENCES annotation_queues ON DELETE CASCADE,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  role text NOT NULL CHECK (role IN ('owner', 'editor', 'annotator', 'viewer')),
  track_progress boolean NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  UNIQUE (queue_id, user_id)
);
CREATE INDEX annotation_queue_users_user ON annotation_queue_users (user_id);

-- Positions of a queue's templates run from 0 without gaps; whoever changes them holds the queue's row.
CREATE TABLE annotation_templates (
  id uuid PRIMARY KEY,
  queue_id uuid NOT NULL REFERENCES annotation_queues ON DELETE CASCADE,
  name text NOT NULL,
  include_explanation boolean NOT NULL,
  criteria text,
  constraints jsonb NOT NULL,
  position integer NOT NULL,
  created_by uuid NOT NULL REFERENCES users,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX annotation_templates_queue ON annotation_templates (queue_id, position);

-- A record is in a queue once, whatever run holds it. With its run or project it leaves the queue.
CREATE TABLE annotation_queue_records (
  queue_id uuid NOT NULL REFERENCES annotation_queues ON DELETE CASCADE,
  record_id uuid NOT NULL,
  project_id uuid NOT NULL,
  run_id uuid NOT NULL REFERENCES runs ON DELETE CASCADE,
  added_by uuid NOT NULL REFERENCES users,
  added_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (queue_id, record_id)
);
CREATE INDEX annotation_queue_records_run ON annotation_queue_records (run_id, record_id);
CREATE INDEX annotation_queue_records_project ON annotation_queue_records (project_id);

-- One rating a record, template and annotator. `value` has the type that the template's constraints name.
CREATE TABLE annotation_ratings (
  template_id uuid NOT NULL REFERENCES annotation_templates ON DELETE CASCADE,
  record_id uuid NOT NULL,
  user_id uuid NOT NULL REFERENCES users,
  queue_id uuid NOT NULL,
  value jsonb NOT NULL,
  explanation text,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (template_id, record_id, user_id),
  FOREIGN KEY (queue_id, record_id) REFERENCES annotation_queue_records ON DELETE CASCADE
);
CREATE INDEX annotation_ratings_record ON annotation_ratings (queue_id, record_id);

-- Exports that a link was given out for; the id is the secret in it.
CREATE TABLE annotation_exports (
  id uuid PRIMARY KEY,
  queue_id uuid NOT NULL REFERENCES annotation_queues ON DELETE CASCADE,
  user_id uuid NOT NULL REFERENCES users,
  request jsonb NOT NULL,
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX annotation_exports_expiry ON annotation_exports (expires_at);
