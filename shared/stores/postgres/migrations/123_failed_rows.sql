-- What a row that failed counts as in the figures of a metric that has no value of it: not at all, or as the worst value there is.
ALTER TABLE experiments ADD COLUMN failed_rows text NOT NULL DEFAULT 'omit' CHECK (failed_rows IN ('omit', 'worst'));
