"""Jobs and quarantined files in the Django admin."""

from ingest.admin import tables  # noqa: F401 - registers
