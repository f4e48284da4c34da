"""Storage configuration of documents' bytes: a folder, or a bucket that all hosts reach."""

import errno
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from django.core.exceptions import ImproperlyConfigured

#: The query parameters of a bucket's URL, with django-storages' names for them.
_BUCKET_OPTIONS = {"endpoint": "endpoint_url", "region": "region_name", "addressing": "addressing_style"}


class BlobsUnavailable(OSError):
    """The bucket of documents' bytes can't be reached or refuses; callers wait or answer 503."""

    def __init__(self, reason: str) -> None:
        super().__init__(errno.EREMOTEIO, reason)


def blob_storage(url: str, folder: Path) -> dict[str, Any]:
    """Return the storage of `file:///FOLDER`, `s3://BUCKET/PREFIX?endpoint=…&region=…` or "" (`folder`).

    Raises ImproperlyConfigured.
    """
    parts = urlsplit(url)
    if not url or (parts.scheme == "file" and not parts.netloc and parts.path.startswith("/")):
        location = Path(parts.path) if url else folder
        return {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": location}}
    if parts.scheme != "s3" or not parts.hostname or "@" in parts.netloc:
        raise ImproperlyConfigured(
            "KEBAB_BLOBS_URL is neither file:///FOLDER nor s3://BUCKET/PREFIX without credentials."
        )
    options = {"bucket_name": parts.netloc, "location": parts.path.strip("/"), **_bucket_options(parts.query)}
    return {"BACKEND": "kebab.stack.storage.bucket.Bucket", "OPTIONS": options}


def _bucket_options(query: str) -> dict[str, str]:
    given = dict(parse_qsl(query, keep_blank_values=True))
    unknown = given.keys() - _BUCKET_OPTIONS.keys()
    if unknown:
        raise ImproperlyConfigured(
            f"KEBAB_BLOBS_URL has {', '.join(sorted(unknown))}; there are {', '.join(_BUCKET_OPTIONS)}."
        )
    return {_BUCKET_OPTIONS[name]: value for name, value in given.items()}
