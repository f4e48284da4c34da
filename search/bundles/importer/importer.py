"""Making a workspace of a bundle: in one transaction, so that there is all of it or nothing.

A file is proven before a row is written, and once more while the rows are: what a process that was killed
leaves is bytes of documents under the name that the next import of the same bundle takes up.
"""

import secrets
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blake3 import blake3
from django.core.files.storage import default_storage
from django.db import DataError, IntegrityError, OperationalError, connection, transaction
from django.utils import timezone
from psycopg.errors import LockNotAvailable

from kebab.http.api.errors import Conflict
from kebab.people import audit
from kebab.people.models import AuditEvent, Membership, Role, User, Workspace
from kebab.people.workspace_settings.registry import clean_preferences
from kebab.people.workspaces import check_slug
from kebab.runtime.failpoints import reached
from kebab.tenancy.current_workspace import acting_everywhere, acting_in
from search.bundles.errors import BundleRefused, ImportUnderWay
from search.bundles.format.manifest import Manifest, manifest_digest
from search.bundles.format.row_reader import BundleReader
from search.bundles.format.verify import Verifier, check_digests
from search.bundles.importer.follow_up import IMPORTED, begun_import, finish_import
from search.bundles.importer.loader import Loader
from search.bundles.importer.locks import try_lock
from search.bundles.progress import Progress
from search.corpus.blobs import drop_all_blobs
from search.corpus.changelog import CHANNEL
from search.models import Change, Document

# Between two statements bytes are read, checked and written, however many there are.
_OPTIONS = "SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL statement_timeout = '10min'"
_NOTIFY = "SELECT pg_notify(%s, %s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """What is to become of a bundle."""

    file: Path
    slug: str
    #: '' for the one that the bundle says.
    name: str = ""
    owner: User | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A workspace that was a bundle."""

    workspace: Workspace
    manifest: Manifest
    #: Keys of sources that were taken off the folder that they read.
    detached: tuple[str, ...] = ()
    #: Names of settings that mean nothing here.
    dropped_settings: tuple[str, ...] = ()
    #: Whether an earlier import had brought in all of it, and only what is made of it was missing.
    was_finished: bool = False


def import_bundle(request: ImportRequest, on_progress: Progress = lambda *_: None) -> Imported:
    """Make a workspace of the bundle; give it with what was left out.

    Raises InvalidRequest for a slug that can't be one, Conflict for one that is taken, ImportUnderWay, and
    what is wrong with the bundle.
    """
    check_slug(request.slug)
    with BundleReader(request.file) as reader:
        with acting_everywhere():
            begun = begun_import(request.slug, reader.manifest)
        if begun is None:
            verifier = Verifier(reader, on_progress)
            verifier.run()
            _check_room(reader, verifier.blob_bytes)
            imported = _load(request, reader, on_progress)
        else:
            imported = Imported(workspace=begun, manifest=reader.manifest, was_finished=True)
    finish_import(imported.workspace, on_progress)
    return imported


def _check_room(reader: BundleReader, blob_bytes: int) -> None:
    """Raise BundleRefused when the documents' bytes, unpacked, don't fit on the disk that is to keep them."""
    try:
        folder = Path(default_storage.path(""))
    except NotImplementedError:
        return  # a bucket
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    free_bytes = shutil.disk_usage(folder).free
    if blob_bytes > free_bytes:
        raise BundleRefused(
            f"{reader.path} is refused: its documents' bytes take {blob_bytes / 1e9:.1f} GB, and"
            f" {free_bytes / 1e9:.1f} GB are free in {folder}."
        )


def _load(request: ImportRequest, reader: BundleReader, on_progress: Progress) -> Imported:
    with acting_everywhere():
        workspace_id = _free_id(request.slug, reader.manifest)
    with acting_in(workspace_id), _naming_refusals(request), transaction.atomic():
        _prepare(workspace_id, request.slug)
        with _blobs_going_with_rows(workspace_id):
            workspace, dropped = _made(request, reader, workspace_id)
            reached("import_workspace")
            loader = Loader(reader=reader, workspace=workspace, on_progress=on_progress)
            loader.run()
            check_digests(reader)
            _number(workspace, reader.manifest)
            _record(request, workspace, reader.manifest, loader.detached)
            reached("import_before_commit")
    reached("import_committed")
    return Imported(
        workspace=workspace,
        manifest=reader.manifest,
        detached=tuple(loader.detached),
        dropped_settings=dropped,
    )


def _free_id(slug: str, manifest: Manifest) -> uuid.UUID:
    """Return the id that every import of this bundle under this slug takes, until a workspace has had it."""
    nth = 0
    while True:
        said = f"kebab.import.v1 {manifest_digest(manifest)} {slug} {nth}"
        id_ = uuid.UUID(bytes=blake3(said.encode()).digest(length=16), version=4)
        is_known = Workspace.objects.filter(pk=id_).exists()
        if not is_known and not AuditEvent.objects.filter(workspace=id_).exists():
            return id_
        nth += 1


def _prepare(workspace_id: uuid.UUID, slug: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_OPTIONS)
    if not try_lock(workspace_id):
        raise ImportUnderWay("Another process is importing this bundle under the same slug.")
    if Workspace.objects.filter(pk=workspace_id).exists():  # since its id was chosen
        raise _taken(slug)


@contextmanager
def _blobs_going_with_rows(workspace_id: uuid.UUID) -> Iterator[None]:
    """Delete what was kept of documents when their rows can't be, while the lock is still held.

    Once the connection is lost another import may have the lock: it takes up what was kept.
    """
    try:
        yield
    except BaseException:
        if not connection.connection.closed:
            drop_all_blobs(workspace_id)
        raise


def _taken(slug: str) -> Conflict:
    return Conflict(f"The slug {slug!r} is taken; choose another one.", code="slug_taken")


@contextmanager
def _naming_refusals(request: ImportRequest) -> Iterator[None]:
    """Raise BundleRefused for rows that Postgres doesn't take, ImportUnderWay for a slug that is in hand."""
    try:
        yield
    except (IntegrityError, DataError) as error:
        said = str(error).partition("\n")[0]
        raise BundleRefused(f"{request.file} is refused: its rows don't fit each other: {said}.") from error
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        raise ImportUnderWay(f"Another import is taking the slug {request.slug!r}; look again.") from error


def _made(
    request: ImportRequest, reader: BundleReader, workspace_id: uuid.UUID
) -> tuple[Workspace, tuple[str, ...]]:
    """Return the new workspace, without a change yet, and the names of the settings that it has not."""
    row = next(row for _, row in reader.small_rows("workspace"))
    stored, wrong = clean_preferences(row["settings"])
    workspace = Workspace(
        id=workspace_id,
        slug=request.slug,
        name=request.name or row["name"],
        corpus_id=row["corpus_id"],
        settings=stored,
    )
    try:
        with transaction.atomic():
            workspace.save(force_insert=True)
    except IntegrityError as error:
        raise _taken(request.slug) from error
    if request.owner is not None:
        Membership.objects.create(workspace=workspace, user=request.owner, role=Role.OWNER)
    return workspace, tuple(sorted(wrong))


def _number(workspace: Workspace, manifest: Manifest) -> None:
    """Let the log go on from the number that it had come to, so that results say the same one.

    One change stands for all: a mirror without any is built from the rows, and follows from there.
    """
    last = Document.objects.in_workspace(workspace).order_by("id").last()
    if last is None:
        return
    workspace.head_seq = max(1, manifest.seq)
    workspace.save(update_fields=["head_seq"])
    Change.objects.create(
        workspace=workspace,
        seq=workspace.head_seq,
        doc_id=last.doc_id,
        op="upsert",
        token=secrets.randbits(63),
        at=timezone.now(),
    )
    with connection.cursor() as cursor:
        cursor.execute(_NOTIFY, [CHANNEL, str(workspace.pk)])


def _record(request: ImportRequest, workspace: Workspace, manifest: Manifest, detached: list[str]) -> None:
    facts: dict[str, Any] = {
        "id": str(workspace.pk),
        "digest": manifest_digest(manifest),
        "made_at": manifest.made_at.isoformat(),
        "documents": manifest.documents,
        "owner": None if request.owner is None else request.owner.email,
        "detached": detached,
    }
    audit.record_person(audit.operator(), IMPORTED, workspace.slug, workspace=workspace, **facts)
