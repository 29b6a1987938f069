-- Which rows an experiment is over: as its creation asks for it, and as its first start froze it (null: all of them).
ALTER TABLE experiments ADD COLUMN wanted_rows jsonb, ADD COLUMN selected_rows jsonb;

-- Lists of chosen rows in the row store. One that no experiment names is removed after a day: its start was refused, or its experiment is gone.
CREATE TABLE row_selections (
  storage_id uuid PRIMARY KEY,
  run_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
