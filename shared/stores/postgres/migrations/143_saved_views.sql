-- How records of a project are shown: what is asked for, in which columns and order. Shared ones are everybody's who sees the project.
CREATE TABLE saved_views (
  id uuid PRIMARY KEY,
  project_id uuid NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  created_by uuid NOT NULL,
  name text NOT NULL,
  is_shared boolean NOT NULL,
  content jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT saved_views_name UNIQUE (project_id, created_by, name)
);
