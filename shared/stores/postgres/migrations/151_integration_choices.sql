-- Which integrations the calls of a user take, by the name of a provider or of a custom integration.
CREATE TABLE integration_choices (
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  name text NOT NULL,
  -- The one of this provider that comes before others; null: none of this name is used.
  integration_id uuid REFERENCES integrations ON DELETE CASCADE,
  PRIMARY KEY (user_id, name)
);
CREATE INDEX ON integration_choices (integration_id);
