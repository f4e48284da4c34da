"""The limited processes of this worker, kept warm between jobs."""

from functools import cache

from django.conf import settings

from ingest.sandbox.pool import DigesterPool


@cache
def digester_pool() -> DigesterPool:
    """Return this process's pool; its parsers start when first needed and end with the process."""
    return DigesterPool(settings.KEBAB_PARSERS)
