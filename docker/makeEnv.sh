#!/bin/sh
# Writes .env for docker-compose.yml, with passwords and keys that are this installation's own. A file that is there stays as it is.
#   ADMIN_EMAIL=me@example.com sh docker/makeEnv.sh
set -eu
cd "$(dirname "$0")/.."
: "${ADMIN_EMAIL:?set ADMIN_EMAIL to the e-mail address of the first administrator}"
if [ -e .env ]; then
  echo '.env is there already: its passwords belong to the data of this installation' >&2
  exit 1
fi
secret() { openssl rand -hex 24; }
umask 077
cat >.env.new <<VALUES
SECRET_KEYS=k1:$(openssl rand -base64 32)
ADMIN_EMAIL=$ADMIN_EMAIL
ADMIN_PASSWORD=Aa1-$(secret)
CLICKHOUSE_PASSWORD=$(secret)
POSTGRES_PASSWORD=$(secret)
REDIS_PASSWORD=$(secret)
VALUES
mv .env.new .env
echo 'written: .env (for its owner only). Keep it: without SECRET_KEYS stored secrets are lost.'
