"""Export of a workspace to a bundle, from one Postgres snapshot, without blocking writers."""

import contextlib
import glob
import uuid
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw
from django.utils import timezone

import kebab
from kebab.backup.deletion_lock import hold_workspace_deletions
from kebab.identity.models import Workspace
from kebab.runtime.durable_files import hold_existing, sync_to_disk
from search.bundles.errors import BundleExists, BundleUnreadable
from search.bundles.format.layout import APPLICATION_ID, CREATE, FORMAT, SECTIONS, insert_statement
from search.bundles.format.manifest import Manifest, SectionDigest, write_manifest
from search.bundles.format.open_bundle import RowDigest, Value, seal
from search.bundles.format.values import canonical_json
from search.bundles.progress import Progress
from search.bundles.rows import (
    RowNumbers,
    blob_pieces,
    chunk_bodies,
    read_documents,
    section_row,
    vector_rows,
    write_small_sections,
)
from search.mirror.sync.snapshot import postgres_snapshot
from search.models import ChunkVector, Document, EmbeddingSpace
from search.vectors.lifecycle import filled_spaces

# Level 1 takes half the time of 6 and a sixth more space.
_LEVEL = 6
_PRIVATE = 0o600


class BundleWriter:
    """Writer of the sections of one bundle; the rows of each section are numbered from 1."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self.digests = {section: RowDigest() for section in SECTIONS}

    def add(self, section: str, body: bytes, *more: Value) -> int:
        """Add a row and return its number; `more` are the values of the section's further columns."""
        digest = self.digests[section]
        row = (digest.rows + 1, body, *more)
        self.connection.execute(insert_statement(section), row)
        digest.add(row)
        return digest.rows


def compress_body(body: bytes) -> bytes:
    """Compress the body of a row of chunks or of a blob."""
    return zlib.compress(body, _LEVEL)


@contextmanager
def open_draft(target: Path, *, replaces: bool) -> Iterator[Path]:
    """Yield the path of a draft, which becomes `target` if the block succeeds and is deleted otherwise.

    Only the current OS user may read the file. Raises BundleExists, BundleUnreadable.
    """
    if target.exists() and not replaces:
        raise BundleExists(f"{target} is there already; choose another name, or replace it with --force.")
    draft = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        _delete_stale_drafts(target)
        draft.touch(mode=_PRIVATE)
        with hold_existing(draft):
            yield draft
        sync_to_disk(draft)
        draft.replace(target)
        sync_to_disk(target.parent)
    except OSError as error:
        raise BundleUnreadable(f"{target} can't be written: {error.strerror or error}.") from error
    except (apsw.FullError, apsw.IOError, apsw.CantOpenError) as error:
        raise BundleUnreadable(f"{target} can't be written: {error}.") from error
    finally:
        for leftover in (draft, draft.with_name(f"{draft.name}-journal")):
            with contextlib.suppress(OSError):
                leftover.unlink()


def _delete_stale_drafts(target: Path) -> None:
    """Delete the drafts of `target` that killed exports have left."""
    for stale in target.parent.glob(f".{glob.escape(target.name)}.*.tmp"):
        with contextlib.suppress(OSError), hold_existing(stale):
            stale.unlink()


@contextmanager
def create_bundle(path: Path) -> Iterator[BundleWriter]:
    """Yield the writer of an empty bundle, and seal it at the end."""
    connection = apsw.Connection(str(path))
    try:
        # A draft is useless after a crash, so it needs neither rollback nor durability before it is complete.
        # Without a journal the finished file can also be read from read-only media.
        connection.pragma("journal_mode", "off")
        connection.pragma("synchronous", "off")
        connection.pragma("cache_size", -64_000)
        connection.execute(CREATE)
        connection.pragma("application_id", APPLICATION_ID)
        connection.pragma("user_version", FORMAT)
        with connection:
            yield BundleWriter(connection)
    finally:
        connection.close()
    seal(path)


def export_bundle(
    workspace: Workspace,
    target: Path,
    *,
    replaces: bool = False,
    on_progress: Progress = lambda *_: None,
) -> Manifest:
    """Write the current state of the workspace to `target` atomically, and return the manifest.

    It acts in the caller's current workspace. Raises BundleExists, BundleUnreadable, and
    Workspace.DoesNotExist when the workspace has been deleted.
    """
    with (
        open_draft(target, replaces=replaces) as draft,
        hold_workspace_deletions(workspace.pk),  # the bytes are read after the rows that name them
        postgres_snapshot(idle_limit="0"),
    ):
        present = Workspace.objects.get(pk=workspace.pk)
        with create_bundle(draft) as writer:
            return _Export(present, writer, on_progress).run()


@dataclass(slots=True)
class _Export:
    workspace: Workspace
    writer: BundleWriter
    on_progress: Progress

    def run(self) -> Manifest:
        numbers = write_small_sections(self.workspace, self.writer.add)
        spaces = filled_spaces(self.workspace)
        manifest = self._manifest(
            chunks=self._write_corpus(numbers),
            vectors=self._write_vectors(spaces, numbers),
            blobs_missing=self._write_blobs(),
        )
        write_manifest(self.writer.connection, manifest)
        return manifest

    def _write_corpus(self, numbers: RowNumbers) -> int:
        """Write documents and chunks, and return the number of chunks."""
        total = Document.objects.in_workspace(self.workspace).count()
        count = 0
        for document, chunks in read_documents(self.workspace.pk):
            body = canonical_json(section_row("documents", document, numbers))
            number = self.writer.add("documents", body, document.doc_id.hex)
            for chunk_body in chunk_bodies(chunks):
                self.writer.add("chunks", compress_body(chunk_body), number)
            count += len(chunks)
            self.on_progress("documents", number, total)
        return count

    def _write_vectors(self, spaces: list[EmbeddingSpace], numbers: RowNumbers) -> int:
        stored = ChunkVector.objects.in_workspace(self.workspace).filter(space__in=spaces)
        total, done = stored.count(), 0
        for space in spaces:
            for ids, halves in vector_rows(space):
                self.writer.add("vectors", halves, ids, numbers.of("spaces", space.pk))
                done += len(ids) // 16
                self.on_progress("vectors", done, total)
        return done

    def _write_blobs(self) -> int:
        """Write the documents' blobs, and return the number of missing blobs."""
        documents = Document.objects.in_workspace(self.workspace)
        hashes = list(documents.order_by("content_hash").values_list("content_hash", flat=True).distinct())
        missing = 0
        for done, hash_ in enumerate(hashes, start=1):
            try:
                for part, piece in enumerate(blob_pieces(self.workspace.pk, hash_), start=1):
                    self.writer.add("blobs", compress_body(piece), hash_, part)
            except FileNotFoundError:
                missing += 1
            self.on_progress("files", done, len(hashes))
        return missing

    def _manifest(self, *, chunks: int, vectors: int, blobs_missing: int) -> Manifest:
        return Manifest(
            format=FORMAT,
            kebab=kebab.__version__,
            made_at=timezone.now(),
            slug=self.workspace.slug,
            name=self.workspace.name,
            corpus_id=self.workspace.corpus_id,
            seq=self.workspace.head_seq,
            documents=self.writer.digests["documents"].rows,
            chunks=chunks,
            vectors=vectors,
            blobs_missing=blobs_missing,
            sections={
                name: SectionDigest(rows=digest.rows, digest=digest.hexdigest())
                for name, digest in (*self.writer.digests.items(), ("index", RowDigest()))
            },
        )
