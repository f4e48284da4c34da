"""The parser processes of this worker, kept warm between jobs; their resources are limited."""

from functools import cache

from django.conf import settings

from ingest.digest.pool import DigesterPool


@cache
def digester_pool() -> DigesterPool:
    """Return the pool of this process; its parsers start when first needed and end with the process."""
    return DigesterPool(settings.KEBAB_PARSERS)
