-- What the calls of an integration may use, over all workers: concurrency, requestsPerMinute, tokensPerMinute; null where nothing is set.
ALTER TABLE integrations ADD COLUMN limits jsonb;
