"""The job queue in Postgres: request, lease, run, report."""
