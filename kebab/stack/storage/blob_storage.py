"""Storage configuration of documents' bytes: a folder, or a bucket that all hosts reach."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from django.core.exceptions import ImproperlyConfigured
from storages.backends.s3 import S3File, S3Storage

_CONNECT_LIMIT_S = 3
_READ_LIMIT_S = 20
# Larger objects go through a temporary file.
_IN_MEMORY_BYTES = 8_000_000


class Bucket(S3Storage):
    """A bucket below a prefix. Credentials are found as by any S3 client: environment, file, host's role.

    All methods raise BlobsUnavailable when the bucket can't be reached or refuses, FileNotFoundError for a
    missing object.
    """

    def __init__(
        self, *, addressing_style: Literal["auto", "path", "virtual"] = "auto", **options: Any
    ) -> None:
        config = Config(
            connect_timeout=_CONNECT_LIMIT_S,
            read_timeout=_READ_LIMIT_S,
            retries={"mode": "standard", "max_attempts": 2},
            s3={"addressing_style": addressing_style},
            # Servers other than Amazon's lack its newer checksums; a blob's name is its hash anyway.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
        super().__init__(client_config=config, max_memory_size=_IN_MEMORY_BYTES, **options)

    def exists(self, name: str) -> bool:
        """Return whether there is an object of this name."""
        with _map_errors():
            return bool(super().exists(name))

    def delete(self, name: str) -> None:
        """Delete an object; a missing one is no error."""
        with _map_errors():
            super().delete(name)

    def listdir(self, name: str) -> tuple[list[str], list[str]]:
        """Return the prefixes and objects directly below a name."""
        with _map_errors():
            return super().listdir(name)

    def get_modified_time(self, name: str) -> Any:
        """Return the time an object was written."""
        with _map_errors():
            return super().get_modified_time(name)

    def _open(self, name: str, mode: str = "rb") -> "_Object":
        with _map_errors():
            return _Object(self._normalize_name(name), mode, self)

    def _save(self, name: str, content: Any) -> str:
        with _map_errors():
            return str(super()._save(name, content))


class _Object(S3File):
    """An object that is downloaded at the first read."""

    def _get_file(self) -> Any:
        with _map_errors():
            return super()._get_file()

    file = property(_get_file, S3File._set_file)


@contextmanager
def _map_errors() -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        if status == 404 and error.response.get("Error", {}).get("Code") != "NoSuchBucket":
            raise FileNotFoundError(errno.ENOENT, "There is no such object") from error
        raise BlobsUnavailable(f"the bucket refuses: {error}") from error
    except (BotoCoreError, HTTPClientError) as error:
        raise BlobsUnavailable(f"the bucket can't be reached: {error}") from error


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
    return {"BACKEND": "kebab.stack.storage.blob_storage.Bucket", "OPTIONS": options}


def _bucket_options(query: str) -> dict[str, str]:
    given = dict(parse_qsl(query, keep_blank_values=True))
    unknown = given.keys() - _BUCKET_OPTIONS.keys()
    if unknown:
        raise ImproperlyConfigured(
            f"KEBAB_BLOBS_URL has {', '.join(sorted(unknown))}; there are {', '.join(_BUCKET_OPTIONS)}."
        )
    return {_BUCKET_OPTIONS[name]: value for name, value in given.items()}
