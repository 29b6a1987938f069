-- Of metrics whose values clients log: which numbers are better, and between which they lie, by the name of the metric.
ALTER TABLE experiments ADD COLUMN logged_metrics jsonb NOT NULL DEFAULT '{}';
