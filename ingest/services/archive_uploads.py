"""Uploads of archives: stored as they are; a job unpacks them."""

from dataclasses import dataclass
from typing import BinaryIO

from django.db import transaction

from ingest.archives.listing import is_supported_archive
from ingest.archives.open_archive import open_archive
from ingest.archives.types import ArchiveLimits, ArchiveRefused
from ingest.jobs.queue.request import request_archive
from ingest.models import Job
from ingest.services.quotas import Addition, check_content, check_jobs
from ingest.services.source_definition import ensure_upload_source
from ingest.services.uploads import UploadedFile, check_batch
from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from search.corpus import ensure_version
from search.corpus.blobs import lock_and_store_blob_file, store_blob_file
from search.corpus.paths import normalise_path


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveUpload(UploadedFile):
    """An archive to upload."""

    #: The file's own name.
    name: str
    #: The folder that its documents go into; None: their paths are those in the archive.
    folder: str | None
    #: Seekable.
    file: BinaryIO


def accept_archive(workspace: Workspace, upload: ArchiveUpload, *, reader: Reader, requested_by: str) -> Job:
    """Store the archive and return the job that ingests it; documents at the same paths are replaced.

    Raises ArchiveRefused, InvalidPath, the errors of `ensure_upload_source`, and RateLimited and TooLarge for
    an exhausted quota.
    """
    check_archive(upload.name, upload.file)
    prefix = "" if upload.folder is None else normalise_path(upload.folder.rstrip("/")) + "/"
    source = ensure_upload_source(workspace, reader, upload.source)
    check_batch(source, upload.batch, requested_by)
    check_jobs(workspace)
    check_content(workspace, Addition(is_new=True, size_bytes=1))
    ensure_version(source, upload.version)
    stated = {**upload.stated, **({} if upload.embed else {"embed": False})}
    blob = store_blob_file(workspace.pk, upload.file)
    payload = {"archive": upload.name, "prefix": prefix, "version": upload.version, "blob": blob, **stated}
    with transaction.atomic():
        lock_and_store_blob_file(workspace.pk, upload.file, blob)
        return request_archive(source, payload, requested_by=requested_by, batch=upload.batch)


def check_archive(name: str, file: BinaryIO) -> None:
    """Raise ArchiveRefused if the format is unsupported, a limit is exceeded, or a password is needed."""
    if not is_supported_archive(name):
        raise ArchiveRefused(
            f"Archives like {name[-80:]!r} are not unpacked here; pack it as .zip or .tar.gz."
        )
    with open_archive(file, ArchiveLimits.from_settings()):
        pass
