-- A key that only logs.
ALTER TABLE api_keys DROP CONSTRAINT api_keys_project_role_check;
ALTER TABLE api_keys ADD CONSTRAINT api_keys_project_role_check CHECK (project_role IN ('owner', 'editor', 'annotator', 'viewer', 'logger'));
