"""Parser of uploads with size limits: reading stops as soon as an upload is too large."""

from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.core.files.uploadhandler import StopUpload, TemporaryFileUploadHandler
from rest_framework.parsers import DataAndFiles

from ingest.archives.names import is_supported_archive
from kebab.errors import TooLarge
from kebab.http.api.parsers import StrictMultiPartParser

#: Allowance for the parts of a form besides the file: field names, boundaries, metadata.
FORM_OVERHEAD_BYTES = 1_000_000


class UploadParser(StrictMultiPartParser):
    """Parser of multipart/form-data with a file of at most KEBAB_UPLOAD_LIMIT_BYTES, buffered on disk.

    The limit of archives is KEBAB_ARCHIVE_LIMIT_BYTES.
    """

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> "DataAndFiles[Any, Any]":
        """Parse fields and files. Raises TooLarge before or during reading, ParseError, InvalidRequest."""
        limit = limit_upload((parser_context or {})["request"])
        try:
            parsed = super().parse(stream, media_type, parser_context)
            limit.check()
        except BaseException:
            limit.close()
            raise
        return parsed


def limit_upload(request: Any) -> "UploadLimit":
    """Install a limit on the files of a request's form; call its `check` once the form is read.

    Raises TooLarge if the Content-Length is too large.
    """
    largest_bytes = max(settings.KEBAB_UPLOAD_LIMIT_BYTES, settings.KEBAB_ARCHIVE_LIMIT_BYTES)
    if _content_length(request.META) > largest_bytes + FORM_OVERHEAD_BYTES:
        raise _too_large(largest_bytes)
    limit = UploadLimit(request)
    request.upload_handlers = [limit]
    return limit


class UploadLimit(TemporaryFileUploadHandler):
    """Upload handler that counts the bytes of all files of a request, and stops reading above the limit.

    Django closes the files of a form that was read to its end; those of a refused or broken request stay open
    until `close`.
    """

    def __init__(self, request: Any = None) -> None:
        super().__init__(request)
        self._files: list[TemporaryUploadedFile] = []
        self._seen_bytes = 0
        self.limit_bytes = settings.KEBAB_UPLOAD_LIMIT_BYTES

    def new_file(self, field_name: str, file_name: str, *args: Any, **kwargs: Any) -> None:
        """Start a file, and set the limit by its name: the archive limit or the upload limit."""
        super().new_file(field_name, file_name, *args, **kwargs)
        self._files.append(self.file)
        archive_bytes, upload_bytes = settings.KEBAB_ARCHIVE_LIMIT_BYTES, settings.KEBAB_UPLOAD_LIMIT_BYTES
        self.limit_bytes = archive_bytes if is_supported_archive(file_name) else upload_bytes

    def check(self) -> None:
        """Raise TooLarge if reading was stopped."""
        if self._is_exceeded:
            raise _too_large(self.limit_bytes)

    def close(self) -> None:
        """Close and delete the files that were started."""
        for file in self._files:
            file.close()

    @property
    def _is_exceeded(self) -> bool:
        return self._seen_bytes > self.limit_bytes

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        self._seen_bytes += len(raw_data)
        if self._is_exceeded:
            raise StopUpload(connection_reset=True)
        super().receive_data_chunk(raw_data, start)


def check_size(content: bytes) -> bytes:
    """Return `content` if it may be uploaded. Raises TooLarge."""
    if len(content) > settings.KEBAB_UPLOAD_LIMIT_BYTES:
        raise _too_large(settings.KEBAB_UPLOAD_LIMIT_BYTES)
    return content


def _content_length(headers: Mapping[str, Any]) -> int:
    try:
        return int(headers.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0


def _too_large(limit_bytes: int) -> TooLarge:
    return TooLarge(f"The upload is larger than the limit of {limit_bytes} bytes; split it.")
