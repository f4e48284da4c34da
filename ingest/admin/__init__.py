"""Django admin of jobs and quarantined files."""

from ingest.admin import tables  # noqa: F401 - registers
