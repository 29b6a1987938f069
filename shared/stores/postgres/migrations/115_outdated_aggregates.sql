-- Experiments of which clients have logged, changed or deleted records that the stored aggregates may lack. Noted before records are written; removed
-- when the aggregates were computed so long afterwards that no write can be under way.
CREATE TABLE outdated_aggregates (
  -- No reference: a write that begins while its experiment is deleted must not fail here.
  run_id uuid PRIMARY KEY,
  project_id uuid NOT NULL,
  noted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Who computes them, and since when.
  claim uuid,
  claimed_at timestamptz,
  -- Until then they are somebody's, or rest so that a stream of records does not have them computed all the time.
  free_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
