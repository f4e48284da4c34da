"""Parsers with size limits, and serializers, of uploads and changes of documents."""

from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.core.files.uploadhandler import StopUpload, TemporaryFileUploadHandler
from django.http import QueryDict
from rest_framework import serializers
from rest_framework.parsers import DataAndFiles
from rest_framework.request import Request

from ingest.api.fields import LangField, ObjectField, ObjectTextField, TagsField
from ingest.api.jobs.serializers import JobSerializer
from ingest.archives.listing import is_archive, is_supported_archive, strip_archive_suffix
from ingest.jobs.kinds.upload import STATED
from ingest.services.archive_uploads import ArchiveUpload
from ingest.services.source_definition import UPLOADS
from ingest.services.uploads import Upload
from kebab.errors import FieldError, InvalidRequest, TooLarge
from kebab.http.api.parsers import StrictMultiPartParser
from kebab.http.api.serializers import HexIdField, NullableTextField, StrictSerializer, strict_body
from kebab.http.api.views import PageQuery
from kebab.identity.models.workspace import SLUG
from search.corpus import DocumentLocation
from search.models import Trust
from search.models.document import MAX_PATH_CHARS, MAX_TITLE_CHARS
from search.models.source import MAX_TAG_CHARS
from search.retrieval.outdated import VERIFIED

#: Allowance for the parts of a form besides the file: field names, boundaries, metadata.
FORM_OVERHEAD_BYTES = 1_000_000
#: What an editor says of a document's being current.
MARKS = ("outdated", VERIFIED)
_ABOUT_STATUS = "outdated, or verified: never outdated, whatever the document says."
_ABOUT_SUCCESSOR = "Of an outdated document: the id, path or title of the one that replaces it."


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


class StatedFields(StrictSerializer):
    """Properties of a document that override those found in it."""

    title = serializers.CharField(max_length=MAX_TITLE_CHARS, required=False)
    tags = TagsField(required=False)
    lang = LangField(required=False)
    trust_level = serializers.ChoiceField(Trust.choices, required=False)
    status = serializers.ChoiceField(MARKS, required=False, help_text=_ABOUT_STATUS)
    superseded_by = serializers.CharField(
        max_length=MAX_PATH_CHARS, required=False, help_text=_ABOUT_SUCCESSOR
    )
    metadata = ObjectField(required=False)


class PlaceFields(StrictSerializer):
    """The target of an upload."""

    source = serializers.CharField(  # type: ignore[assignment]  # a declared field, not the base's attribute
        max_length=63,
        validators=[SLUG],
        default=UPLOADS,
        help_text="Key or id of an upload source; one with a new key is made.",
    )
    version = serializers.CharField(max_length=MAX_TAG_CHARS, default="", allow_blank=True)
    embed = serializers.BooleanField(
        default=True, help_text="false: embedded by the next upload or sync that embeds."
    )
    batch = serializers.UUIDField(
        default=None,
        allow_null=True,
        help_text="The job of your first upload to this source; activity shows both as one upload.",
    )


class NewText(PlaceFields, StatedFields):
    """A document uploaded as JSON."""

    path = serializers.CharField(max_length=MAX_PATH_CHARS, trim_whitespace=False)
    text = serializers.CharField(trim_whitespace=False)


class NewFile(PlaceFields, StatedFields):
    """A document uploaded as a form, or an archive of documents (zip, tar, tar.gz, tar.bz2, tar.xz)."""

    file = serializers.FileField()
    path = serializers.CharField(
        max_length=MAX_PATH_CHARS, trim_whitespace=False, required=False, help_text="Else the file's name."
    )
    unpack = serializers.ChoiceField(
        ["folder", "root"],
        required=False,
        help_text="Of an archive: into a folder called like it, or like `path` (the default), or as if the"
        " archive's root were the source's.",
    )
    metadata = ObjectTextField(required=False, help_text="A JSON object.")


class DocumentChange(StrictSerializer):
    """The body of a change of a document's overrides; null removes an override."""

    title = serializers.CharField(max_length=MAX_TITLE_CHARS, required=False, allow_null=True)
    tags = TagsField(required=False, allow_null=True)
    lang = LangField(required=False, allow_null=True)
    trust_level = serializers.ChoiceField(Trust.choices, required=False, allow_null=True)
    status = serializers.ChoiceField(MARKS, required=False, allow_null=True, help_text=_ABOUT_STATUS)
    superseded_by = serializers.CharField(
        max_length=MAX_PATH_CHARS, required=False, allow_null=True, help_text=_ABOUT_SUCCESSOR
    )
    metadata = ObjectField(required=False, allow_null=True)


class WaitQuery(StrictSerializer):
    """The parameters of an upload."""

    wait_for = serializers.ChoiceField(
        ["searchable"], required=False, help_text="Answer once searches find it, or after a limit with 202."
    )


class DocumentsQuery(PageQuery):
    """The parameters of a workspace's documents; `source` and `version` may be repeated."""

    path = serializers.CharField(
        max_length=MAX_PATH_CHARS, required=False, trim_whitespace=False, help_text="This path exactly."
    )
    path_prefix = serializers.CharField(max_length=MAX_PATH_CHARS, required=False, trim_whitespace=False)
    source = serializers.ListField(  # type: ignore[assignment]  # a declared field, not the base's attribute
        child=serializers.CharField(max_length=63), required=False, help_text="Keys or ids."
    )
    version = serializers.ListField(
        child=serializers.CharField(max_length=MAX_TAG_CHARS, allow_blank=True),
        required=False,
        help_text="Tags; an empty one is the default version.",
    )
    order = serializers.ChoiceField(
        ["path", "date", "-date"],
        required=False,
        help_text="By path, or by date, the earliest or the latest first; else as they were added.",
    )


class PlacedDocumentSerializer(serializers.Serializer[DocumentLocation]):
    """The document that an upload becomes."""

    id = HexIdField(source="doc_id")
    path = serializers.CharField()
    source = serializers.CharField(source="source.key")  # type: ignore[assignment]  # a declared field, not the base's attribute
    version = NullableTextField(
        source="version.tag", help_text="The version's tag; null: the default version."
    )


class AcceptedSerializer(serializers.Serializer[Any]):
    """An upload and the job that ingests it."""

    document = PlacedDocumentSerializer(
        allow_null=True, help_text="null: an archive, whose documents are the job's items."
    )
    job = JobSerializer()
    seq = serializers.IntegerField(
        allow_null=True, help_text="The change from which on it is found; null until then."
    )
    seq_token = serializers.CharField(allow_null=True, help_text="`seq` with the token of its history.")


def parse_upload(request: Request) -> Upload | ArchiveUpload:
    """Parse the upload in a form or a JSON body. Raises ValidationError, InvalidRequest, TooLarge."""
    if isinstance(request.data, QueryDict):
        repeated = [name for name in request.data if len(request.data.getlist(name)) > 1 and name != "tags"]
        if repeated:
            raise InvalidRequest(
                f"Given more than once: {', '.join(repeated)}.",
                errors=[FieldError(field=name, message="This may be given only once.") for name in repeated],
            )
        return build_upload(strict_body(request, NewFile))
    return parse_text_upload(strict_body(request, NewText))


def parse_text_upload(fields: Mapping[str, Any]) -> Upload:
    """Build the upload from the clean fields of a `NewText`. Raises TooLarge."""
    content = check_size(fields["text"].encode())
    return Upload(path=fields["path"], content=content, **_placed(fields))


def build_upload(fields: Mapping[str, Any]) -> Upload | ArchiveUpload:
    """Build the upload from the clean fields of a `NewFile`. Raises InvalidRequest, TooLarge."""
    if is_archive(fields["file"].name) or is_archive(fields.get("path", "")):
        return _build_archive_upload(fields)
    _refuse("unpack", "This is not an archive.", fields)
    path, content = fields.get("path", fields["file"].name), check_size(fields["file"].read())
    return Upload(path=path, content=content, **_placed(fields))


def _placed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return what uploads of documents and of archives have in common."""
    place = {name: fields[name] for name in ("source", "version", "embed", "batch")}
    return {**place, "stated": {name: fields[name] for name in STATED if name in fields}}


def _build_archive_upload(fields: Mapping[str, Any]) -> ArchiveUpload:
    _refuse("title", "The documents of an archive have titles of their own.", fields)
    file = fields["file"]
    is_in_folder = fields.get("unpack", "folder") == "folder"
    if not is_in_folder:
        _refuse("path", "Give a path, or unpack=root, not both.", fields)
    return ArchiveUpload(
        name=file.name if is_archive(file.name) else fields["path"],
        folder=strip_archive_suffix(fields.get("path", file.name)) if is_in_folder else None,
        file=file,
        **_placed(fields),
    )


def _refuse(field: str, why: str, fields: Mapping[str, Any]) -> None:
    if field in fields:
        raise InvalidRequest(f"{field}: {why}", errors=[FieldError(field=field, message=why)])
