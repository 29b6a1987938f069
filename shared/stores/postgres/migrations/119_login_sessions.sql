-- Logins by password, so that their user sees and ends them. A token is valid without its row here: a session that has ended is noted in
-- spent_refresh_tokens by its id, and users.token_version is raised to end all. Only the newest sessions of a user are kept.
CREATE TABLE login_sessions (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  -- Set for the session that stays when all others end: its tokens, signed before, are good for this version of the user's.
  token_version integer,
  address text,
  user_agent text,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  last_used timestamptz(3) NOT NULL DEFAULT now(),
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX login_sessions_user ON login_sessions (user_id, last_used);

-- One-time tokens with which a user sets a new password, as SHA-256 in hex; at most one for a user.
CREATE TABLE password_resets (
  user_id uuid PRIMARY KEY REFERENCES users ON DELETE CASCADE,
  token_hash text NOT NULL,
  created_by uuid NOT NULL REFERENCES users,
  expires_at timestamptz(3) NOT NULL
);
CREATE UNIQUE INDEX password_resets_token ON password_resets (token_hash);
