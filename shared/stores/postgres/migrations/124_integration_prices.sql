-- What the models of an integration cost: a list of {model, validFrom, rates}, as `OwnPrice` of shared/integrations has them.
ALTER TABLE integrations ADD COLUMN prices jsonb NOT NULL DEFAULT '[]';
