-- Times are kept in milliseconds, as replies show them: a caller's filter on a time it was given finds the row.

-- One service serves one organization; its row is made here so that every user can refer to it.
CREATE TABLE organization (
  id uuid PRIMARY KEY,
  name text NOT NULL
);
INSERT INTO organization (id, name) VALUES (gen_random_uuid(), 'Assay');

CREATE TABLE users (
  id uuid PRIMARY KEY,
  email text NOT NULL,
  first_name text,
  last_name text,
  role text NOT NULL CHECK (role IN ('admin', 'manager', 'user', 'read_only')),
  -- PHC string of Argon2id; null where the user cannot log in by password.
  password_hash text,
  -- Raised to end every access token of the user.
  token_version integer NOT NULL DEFAULT 0,
  -- Set for a removed user: what they made still names them.
  removed_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX users_email ON users (lower(email)) WHERE removed_at IS NULL;

CREATE TABLE api_keys (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  -- SHA-256 of the key in hex. The key itself has 256 random bits, so a slow hash would add nothing.
  key_hash text NOT NULL,
  truncated text NOT NULL,
  description text NOT NULL,
  project_id uuid,
  project_role text CHECK (project_role IN ('owner', 'editor', 'annotator', 'viewer')),
  expires_at timestamptz(3),
  last_used timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  CHECK ((project_id IS NULL) = (project_role IS NULL))
);
CREATE UNIQUE INDEX api_keys_hash ON api_keys (key_hash);
CREATE INDEX api_keys_user ON api_keys (user_id, created_at);

-- A refresh token is used once. Its id stands here from then until it would have ended anyway; the id of its family stands here when one of
-- the family was used twice, which ends them all. Tokens not used yet are signed and stored nowhere, so that a login writes nothing.
CREATE TABLE spent_refresh_tokens (
  id uuid PRIMARY KEY,
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX spent_refresh_tokens_expiry ON spent_refresh_tokens (expires_at);

CREATE TABLE user_groups (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  description text,
  visibility text NOT NULL CHECK (visibility IN ('public', 'private', 'hidden', 'protected')),
  created_by uuid NOT NULL REFERENCES users,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX user_groups_name ON user_groups (name);

CREATE TABLE user_group_members (
  group_id uuid NOT NULL REFERENCES user_groups ON DELETE CASCADE,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  role text NOT NULL CHECK (role IN ('member', 'maintainer', 'pending')),
  PRIMARY KEY (group_id, user_id)
);
CREATE INDEX user_group_members_user ON user_group_members (user_id);
