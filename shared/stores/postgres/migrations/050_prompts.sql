CREATE TABLE prompt_templates (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  hidden boolean NOT NULL DEFAULT false,
  selected_version integer NOT NULL,
  created_by uuid NOT NULL REFERENCES users,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  -- Set on deletion: the name is free and the routes answer 404, while runs that use a version still read it.
  deleted_at timestamptz(3)
);
CREATE UNIQUE INDEX prompt_templates_name ON prompt_templates (name) WHERE deleted_at IS NULL;

CREATE TABLE prompt_template_versions (
  id uuid PRIMARY KEY,
  template_id uuid NOT NULL REFERENCES prompt_templates ON DELETE CASCADE,
  version integer NOT NULL,
  -- A string, or an array of messages. json, not jsonb: the order of keys in a tool's schema matters to models.
  template json NOT NULL,
  raw boolean NOT NULL,
  settings json NOT NULL,
  output_type text,
  model_changed boolean NOT NULL,
  settings_changed boolean NOT NULL,
  content_changed boolean NOT NULL,
  created_by uuid NOT NULL REFERENCES users,
  created_at timestamptz(3) NOT NULL,
  updated_at timestamptz(3) NOT NULL,
  UNIQUE (template_id, version)
);

CREATE TABLE prompt_template_projects (
  template_id uuid NOT NULL REFERENCES prompt_templates ON DELETE CASCADE,
  project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE,
  linked_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (template_id, project_id)
);
CREATE INDEX prompt_template_projects_by_project ON prompt_template_projects (project_id);
