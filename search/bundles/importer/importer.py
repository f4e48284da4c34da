"""Import of a bundle as a new workspace, in one transaction.

The file is verified before the first row is written, and its digests again while rows are written. A killed
process leaves only blobs, under the workspace id that the next import of the same bundle reuses.
"""

import secrets
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from blake3 import blake3
from django.conf import settings
from django.core.files.storage import default_storage
from django.db import DataError, IntegrityError, OperationalError, connection, transaction
from django.utils import timezone
from psycopg.errors import LockNotAvailable

from kebab.errors import Conflict
from kebab.identity.models import AuditEvent, Membership, Role, User, Workspace
from kebab.people import audit
from kebab.people.workspace_access import restore_access
from kebab.people.workspace_settings.registry import clean_preferences
from kebab.people.workspaces import check_slug
from kebab.runtime.failpoints import reach
from kebab.tenancy.current_workspace import acting_everywhere, acting_in
from search.bundles.errors import BundleRefused, ImportUnderWay
from search.bundles.format.manifest import Manifest, manifest_digest
from search.bundles.format.row_reader import BundleReader
from search.bundles.format.verify import Verifier, check_digests
from search.bundles.importer.loader import Loader
from search.bundles.progress import Progress
from search.corpus.blobs import delete_all_blobs
from search.corpus.replace import CHANNEL
from search.mirror import local_mirrors
from search.mirror.files import MirrorBusy
from search.mirror.sync.sync import rebuild_mirror
from search.models import Change, ChunkVector, Document, EmbeddingSpace
from search.vectors.index import ensure_index
from search.vectors.lifecycle import filled_spaces
from search.vectors.quantised_index import prepare_codes

#: Audit action of an import; an import that was killed after its commit is recognised by it.
IMPORT_ACTION = "workspace.imported"


def find_unfinished_import(slug: str, manifest: Manifest) -> Workspace | None:
    """Return the workspace of an unfinished import of the same bundle; None if the slug is free.

    Raises Conflict for a slug that is taken by another workspace.
    """
    workspace = Workspace.objects.filter(slug=slug).first()
    if workspace is None:
        return None
    imports = AuditEvent.objects.filter(
        workspace=workspace, action=IMPORT_ACTION, detail__digest=manifest_digest(manifest)
    )
    if imports.exists() and any(map(_lacks_index, filled_spaces(workspace))):
        return workspace
    raise Conflict(
        f"The slug {slug!r} is taken; a bundle becomes a new workspace, so choose another one.",
        code="slug_taken",
    )


def _lacks_index(space: EmbeddingSpace) -> bool:
    vectors = ChunkVector.objects.in_workspace(space.workspace_id).filter(space=space.pk)
    return not space.is_indexed and vectors.count() >= settings.KEBAB_EXACT_SCAN_LIMIT


def finish_import(workspace: Workspace, on_progress: Progress) -> None:
    """Build the vector indexes, this node's mirror and quantised vectors from the rows. Idempotent."""
    with acting_in(workspace.pk):
        for space in filled_spaces(workspace):
            on_progress("vector index", 0, 0)
            ensure_index(space)
        reach("import_indexed")
        total, done = Document.objects.in_workspace(workspace).count(), 0

        def on_document() -> None:
            nonlocal done
            done += 1
            on_progress("mirror", done, total)

        with suppress(MirrorBusy):  # another process of this node is building it
            rebuild_mirror(local_mirrors.mirror_files(workspace.pk), workspace.pk, on_document=on_document)
        for space in filled_spaces(workspace):
            prepare_codes(space)


# Any amount of bytes may be read, checked and written between two statements.
_OPTIONS = "SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL statement_timeout = '10min'"
_NOTIFY = "SELECT pg_notify(%s, %s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """Parameters of an import."""

    file: Path
    slug: str
    #: '' for the bundle's own name.
    name: str = ""
    owner: User | None = None
    #: Members and tokens of the workspace that is moved, and its id.
    access: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """An imported workspace."""

    workspace: Workspace
    manifest: Manifest
    #: Keys of sources that were detached from their folders or servers.
    detached: tuple[str, ...] = ()
    #: Names of settings that are invalid in this release.
    dropped_settings: tuple[str, ...] = ()
    #: Whether an earlier import had committed all rows, and only the follow-up was missing.
    was_finished: bool = False


def import_bundle(request: ImportRequest, on_progress: Progress = lambda *_: None) -> ImportResult:
    """Import the bundle as a new workspace, or finish an interrupted import of it.

    Raises InvalidRequest for an invalid slug, Conflict for a taken one, ImportUnderWay, and the errors of
    verification.
    """
    check_slug(request.slug)
    with BundleReader(request.file) as reader:
        with acting_everywhere():
            unfinished = find_unfinished_import(request.slug, reader.manifest)
        if unfinished is None:
            verifier = Verifier(reader, on_progress)
            verifier.run()
            _check_room(reader, verifier.blob_bytes)
            imported = _load(request, reader, on_progress)
        else:
            imported = ImportResult(workspace=unfinished, manifest=reader.manifest, was_finished=True)
    finish_import(imported.workspace, on_progress)
    return imported


def _check_room(reader: BundleReader, blob_bytes: int) -> None:
    """Raise BundleRefused when the uncompressed blobs don't fit on the disk of the blob store."""
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


def _load(request: ImportRequest, reader: BundleReader, on_progress: Progress) -> ImportResult:
    with acting_everywhere():
        workspace_id = _free_id(request, reader.manifest)
    with acting_in(workspace_id), _translate_database_errors(request), transaction.atomic():
        _prepare(workspace_id, request.slug)
        with _delete_blobs_on_failure(workspace_id):
            workspace, dropped = _create_workspace(request, reader, workspace_id)
            reach("import_workspace")
            loader = Loader(reader=reader, workspace=workspace, on_progress=on_progress)
            loader.run()
            check_digests(reader)
            if request.access is not None:
                restore_access(workspace, request.access)
            _continue_log(workspace, reader.manifest)
            _record_audit(request, workspace, reader.manifest, loader.detached)
            reach("import_before_commit")
    reach("import_committed")
    return ImportResult(
        workspace=workspace,
        manifest=reader.manifest,
        detached=tuple(loader.detached),
        dropped_settings=dropped,
    )


def _free_id(request: ImportRequest, manifest: Manifest) -> uuid.UUID:
    """Return the id of a workspace that moves, or the first unused one derived from this bundle and slug."""
    if request.access is not None:
        return uuid.UUID(request.access["id"])
    nth = 0
    while True:
        seed = f"kebab.import.v1 {manifest_digest(manifest)} {request.slug} {nth}"
        id_ = uuid.UUID(bytes=blake3(seed.encode()).digest(length=16), version=4)
        is_known = Workspace.objects.filter(pk=id_).exists()
        if not is_known and not AuditEvent.objects.filter(workspace=id_).exists():
            return id_
        nth += 1


def _prepare(workspace_id: uuid.UUID, slug: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_OPTIONS)
    if not try_lock(workspace_id):
        raise ImportUnderWay("Another process is importing this bundle under the same slug.")
    if Workspace.objects.filter(pk=workspace_id).exists():  # created after the id was chosen
        raise _slug_conflict(slug)


@contextmanager
def _delete_blobs_on_failure(workspace_id: uuid.UUID) -> Iterator[None]:
    """Delete the stored blobs when the import fails, while the lock is still held.

    After a lost connection another import may hold the lock; it reuses the stored blobs.
    """
    try:
        yield
    except BaseException:
        if not connection.connection.closed:
            delete_all_blobs(workspace_id)
        raise


def _slug_conflict(slug: str) -> Conflict:
    return Conflict(f"The slug {slug!r} is taken; choose another one.", code="slug_taken")


@contextmanager
def _translate_database_errors(request: ImportRequest) -> Iterator[None]:
    """Translate database errors to BundleRefused, and a lock timeout to ImportUnderWay."""
    try:
        yield
    except (IntegrityError, DataError) as error:
        detail = str(error).partition("\n")[0]
        raise BundleRefused(f"{request.file} is refused: its rows don't fit each other: {detail}.") from error
    except OperationalError as error:
        if not isinstance(error.__cause__, LockNotAvailable):
            raise
        raise ImportUnderWay(f"Another import is taking the slug {request.slug!r}; look again.") from error


def _create_workspace(
    request: ImportRequest, reader: BundleReader, workspace_id: uuid.UUID
) -> tuple[Workspace, tuple[str, ...]]:
    """Create the workspace, without changes yet; return it and the names of the dropped settings."""
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
        raise _slug_conflict(request.slug) from error
    if request.owner is not None:
        Membership.objects.create(workspace=workspace, user=request.owner, role=Role.OWNER)
    return workspace, tuple(sorted(wrong))


def _continue_log(workspace: Workspace, manifest: Manifest) -> None:
    """Continue the change log at the bundle's sequence number, so that results report the same one.

    A single change represents all: a new mirror is built from the rows and follows the log from there.
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


def _record_audit(
    request: ImportRequest, workspace: Workspace, manifest: Manifest, detached: list[str]
) -> None:
    facts: dict[str, Any] = {
        "id": str(workspace.pk),
        "digest": manifest_digest(manifest),
        "made_at": manifest.made_at.isoformat(),
        "documents": manifest.documents,
        "owner": None if request.owner is None else request.owner.email,
        "detached": detached,
        "members": [each["user__email"] for each in (request.access or {}).get("members", ())],
        "tokens": [each["prefix"] for each in (request.access or {}).get("tokens", ())],
    }
    audit.record_person(audit.operator_actor(), IMPORT_ACTION, workspace.slug, workspace=workspace, **facts)


_TRY_LOCK = "SELECT pg_try_advisory_xact_lock(%s)"
_IS_HELD = """
SELECT EXISTS (
    SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (classid::bigint << 32) | objid::bigint = %s
)
"""


def try_lock(workspace_id: uuid.UUID) -> bool:
    """Lock this workspace's import until the transaction's end; False when another one holds the lock."""
    return _query_lock(_TRY_LOCK, workspace_id)


def is_under_way(workspace_id: uuid.UUID) -> bool:
    """Return whether an import of this workspace is running."""
    return _query_lock(_IS_HELD, workspace_id)


def lock_key(workspace_id: uuid.UUID) -> int:
    """Return the key of the advisory lock: 63 bits."""
    return workspace_id.int % 2**63


def _query_lock(statement: str, workspace_id: uuid.UUID) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(statement, [lock_key(workspace_id)])
        return bool(cursor.fetchone()[0])
