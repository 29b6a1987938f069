-- Lists are read part by part, each after the last row of the one before: all columns of an order have one direction, and the last is unique.
DROP INDEX datasets_changed, datasets_created, prompt_templates_changed, prompt_templates_created, annotation_queues_changed, annotation_queues_created;
CREATE INDEX datasets_changed ON datasets (updated_at, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX datasets_created ON datasets (created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX prompt_templates_changed ON prompt_templates (updated_at, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX prompt_templates_created ON prompt_templates (created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX annotation_queues_changed ON annotation_queues (updated_at, created_at, id);
CREATE INDEX annotation_queues_created ON annotation_queues (created_at, id);

DROP INDEX projects_name, annotation_queues_name, api_keys_user, experiments_by_project, run_scorer_settings_project, annotation_queue_records_project;
CREATE INDEX projects_name ON projects (name, id);
CREATE INDEX annotation_queues_name ON annotation_queues (name, id);
CREATE INDEX api_keys_user ON api_keys (user_id, created_at, id);
CREATE INDEX experiments_by_project ON experiments (project_id, run_id);
CREATE INDEX run_scorer_settings_project ON run_scorer_settings (project_id, run_id);
CREATE INDEX annotation_queue_records_project ON annotation_queue_records (project_id, queue_id);

CREATE INDEX runs_experiment_name ON runs (project_id, name, id) WHERE kind = 'experiment';
CREATE INDEX users_created ON users (created_at, id) WHERE removed_at IS NULL;
CREATE INDEX user_groups_created ON user_groups (created_at, id);
CREATE INDEX experiment_groups_created ON experiment_groups (project_id, created_at, id);
