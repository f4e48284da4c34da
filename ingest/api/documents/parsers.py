"""Reads uploads, and stops reading where one is larger than allowed."""

from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.core.files.uploadhandler import StopUpload, TemporaryFileUploadHandler
from rest_framework.parsers import DataAndFiles

from ingest.archives.names import is_unpacked
from kebab.http.api.errors import TooLarge
from kebab.http.api.parsers import StrictMultiPartParser

#: What a form may have beside the file: field names, boundaries, metadata.
FORM_OVERHEAD_BYTES = 1_000_000


class UploadParser(StrictMultiPartParser):
    """multipart/form-data with a file of at most KEBAB_UPLOAD_LIMIT_BYTES, kept on disk while it is read.

    An archive may have KEBAB_ARCHIVE_LIMIT_BYTES.
    """

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: dict[str, Any] | None = None,
    ) -> DataAndFiles:
        """Return fields and files. Raises TooLarge before or while it is read, ParseError, InvalidRequest."""
        limit = limit_upload((parser_context or {})["request"])
        try:
            parsed = super().parse(stream, media_type, parser_context)
            limit.check()
        except BaseException:
            limit.close()
            raise
        return parsed


def limit_upload(request: Any) -> "UploadLimit":
    """Have the files of a request's form counted while they are read; `check` the limit once they are.

    Raises TooLarge for a body that announces too much.
    """
    largest_bytes = max(settings.KEBAB_UPLOAD_LIMIT_BYTES, settings.KEBAB_ARCHIVE_LIMIT_BYTES)
    if _announced_bytes(request.META) > largest_bytes + FORM_OVERHEAD_BYTES:
        raise _too_large(largest_bytes)
    limit = UploadLimit(request)
    request.upload_handlers = [limit]
    return limit


class UploadLimit(TemporaryFileUploadHandler):
    """Counts the bytes of all files of a request together, and stops the reading when they are too many.

    Django closes the files of a form that was read to its end; of one that is refused or breaks off they
    stay open until `close`.
    """

    def __init__(self, request: Any = None) -> None:
        super().__init__(request)
        self._files: list[TemporaryUploadedFile] = []
        self._seen_bytes = 0
        self.limit_bytes = settings.KEBAB_UPLOAD_LIMIT_BYTES

    def new_file(self, field_name: str, file_name: str, *args: Any, **kwargs: Any) -> None:
        """Begin a file: one that is an archive's lifts the limit, one that isn't sets it again."""
        super().new_file(field_name, file_name, *args, **kwargs)
        self._files.append(self.file)
        archive_bytes, upload_bytes = settings.KEBAB_ARCHIVE_LIMIT_BYTES, settings.KEBAB_UPLOAD_LIMIT_BYTES
        self.limit_bytes = archive_bytes if is_unpacked(file_name) else upload_bytes

    def check(self) -> None:
        """Raises TooLarge when the reading was stopped."""
        if self._is_passed:
            raise _too_large(self.limit_bytes)

    def close(self) -> None:
        """Close and remove the files that were begun."""
        for file in self._files:
            file.close()

    @property
    def _is_passed(self) -> bool:
        return self._seen_bytes > self.limit_bytes

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self._seen_bytes += len(raw_data)
        if self._is_passed:
            raise StopUpload(connection_reset=True)
        super().receive_data_chunk(raw_data, start)


def check_size(content: bytes) -> bytes:
    """Return `content` if it may be uploaded. Raises TooLarge."""
    if len(content) > settings.KEBAB_UPLOAD_LIMIT_BYTES:
        raise _too_large(settings.KEBAB_UPLOAD_LIMIT_BYTES)
    return content


def _announced_bytes(headers: Mapping[str, Any]) -> int:
    try:
        return int(headers.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0


def _too_large(limit_bytes: int) -> TooLarge:
    return TooLarge(f"The upload is larger than the limit of {limit_bytes} bytes; split it.")
