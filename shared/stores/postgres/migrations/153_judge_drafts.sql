-- Judges that a model writes from a sentence, for whoever asked to fetch them.
CREATE TABLE judge_drafts (
  id uuid PRIMARY KEY,
  created_by uuid NOT NULL,
  -- Null while the model is at work, and where it wrote none that can be used.
  judge jsonb,
  problem text,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX judge_drafts_age ON judge_drafts (created_at);
