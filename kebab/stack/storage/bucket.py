"""Blob storage in a bucket: django-storages' S3 with timeouts, and with OSErrors for its failures."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from storages.backends.s3 import S3File, S3Storage

from kebab.stack.storage.blob_storage import BlobsUnavailable

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
