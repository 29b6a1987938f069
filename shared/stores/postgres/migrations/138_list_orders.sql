-- The orders in which lists are shown, so that a page reads a page.
CREATE INDEX datasets_changed ON datasets (updated_at DESC, created_at DESC, id) WHERE deleted_at IS NULL;
CREATE INDEX datasets_created ON datasets (created_at DESC, id) WHERE deleted_at IS NULL;
CREATE INDEX prompt_templates_changed ON prompt_templates (updated_at DESC, created_at DESC, id) WHERE deleted_at IS NULL;
CREATE INDEX prompt_templates_created ON prompt_templates (created_at DESC, id) WHERE deleted_at IS NULL;
CREATE INDEX runs_experiments ON runs (project_id, created_at, id) WHERE kind = 'experiment';
CREATE INDEX runs_log_streams ON runs (project_id, created_at, id) WHERE kind = 'log_stream';
CREATE INDEX annotation_queues_changed ON annotation_queues (updated_at DESC, created_at DESC, id);
CREATE INDEX annotation_queues_created ON annotation_queues (created_at DESC, id);
