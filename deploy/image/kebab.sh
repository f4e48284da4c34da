#!/bin/sh
# `kebab VERB`, as everywhere.
exec python /app/manage.py "$@"
