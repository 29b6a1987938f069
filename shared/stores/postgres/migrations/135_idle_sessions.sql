-- Microseconds, as the versions of records. Sessions whose newest record is older than `sessions_seen_to` were looked at; what was idle before that is scored
-- only when somebody asks for it. `sessions_due`: when the next session will have been idle for long enough; null where none was written to since.
ALTER TABLE run_scorer_settings
  ADD COLUMN sessions_seen_to bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
  ADD COLUMN sessions_due bigint;
