"""Static files with the hash of their content in the address, so that browsers keep them until they change."""

from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Final

from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import StaticFilesStorage

_HASH_BYTES: Final = 6


class HashedStaticFiles(StaticFilesStorage):
    """Adds `?v=<hash>` to the addresses of files; a storage with hashed names would need a build step."""

    def url(self, name: str | None) -> str:
        """Return the address of a file; without a hash if there is no such file."""
        address = str(super().url(name))
        version = _hash_of(name or "")
        return f"{address}?v={version}" if version else address


def _hash_of(name: str) -> str:
    return _read_hash(name) if settings.DEBUG else _stored_hash(name)


def _read_hash(name: str) -> str:
    path = finders.find(name)
    if not isinstance(path, str):
        return ""
    return blake2b(Path(path).read_bytes(), digest_size=_HASH_BYTES).hexdigest()


_stored_hash = cache(_read_hash)
