-- Versions of built-in metrics: settings under a number. The metrics themselves are code and have no row.
CREATE TABLE preset_versions (
  id uuid PRIMARY KEY,
  scorer_id uuid NOT NULL,
  version integer NOT NULL,
  settings jsonb NOT NULL,
  created_by uuid NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT preset_versions_number UNIQUE (scorer_id, version)
);
