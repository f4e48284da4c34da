#!/bin/sh
# Run once by the Postgres image, when its volume is empty: the database and its two roles, so that row-level
# security holds for the application (docs/security.md). By hand on a server of one's own: PGHOST, PGUSER and
# PGPASSWORD of a superuser, the two passwords in the environment.
set -eu

: "${KEBAB_OWNER_PASSWORD:?the password of kebab_owner}"
: "${KEBAB_APP_PASSWORD:?the password of kebab_app}"

psql --quiet --no-psqlrc --set=ON_ERROR_STOP=1 --username="${POSTGRES_USER:-postgres}" --dbname=postgres <<'SQL'
\getenv owner_password KEBAB_OWNER_PASSWORD
\getenv app_password KEBAB_APP_PASSWORD
CREATE ROLE kebab_owner LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'owner_password';
CREATE ROLE kebab_app LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE PASSWORD :'app_password';
CREATE DATABASE kebab OWNER kebab_owner;
REVOKE ALL ON DATABASE kebab FROM PUBLIC;
GRANT CONNECT, TEMPORARY ON DATABASE kebab TO kebab_app;
\connect kebab
CREATE EXTENSION IF NOT EXISTS vector;
SQL
