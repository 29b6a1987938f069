CREATE TABLE integrations (
  id uuid PRIMARY KEY,
  provider text NOT NULL,
  -- The slug of a custom integration, the provider's name otherwise.
  name text NOT NULL,
  config jsonb NOT NULL,
  -- Sealed texts by field (v1:keyid:iv:ciphertext:tag); never plain ones.
  secrets jsonb NOT NULL,
  created_by uuid NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  UNIQUE (provider, name)
);
