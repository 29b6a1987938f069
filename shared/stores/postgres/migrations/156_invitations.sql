-- Accounts that administrators offer: who has the link of one chooses its password.
CREATE TABLE invitations (
  email text NOT NULL,
  token_hash text NOT NULL,
  role text NOT NULL,
  group_ids uuid[] NOT NULL,
  created_by uuid NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX invitations_email ON invitations (lower(email));
CREATE UNIQUE INDEX invitations_token ON invitations (token_hash);
