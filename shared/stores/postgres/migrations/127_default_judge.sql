-- The model that judges what a project's scorers name no model for, as `integration/model`.
ALTER TABLE projects ADD COLUMN default_judge text;
