"""Export of a workspace to a bundle, from one Postgres snapshot, without blocking writers."""

from dataclasses import dataclass
from pathlib import Path

from django.utils import timezone

import kebab
from kebab.backup.deletion_lock import hold_workspace_deletions
from kebab.identity.models import Workspace
from search.bundles.format.draft import BundleWriter, compress_body, create_bundle, open_draft
from search.bundles.format.layout import FORMAT
from search.bundles.format.manifest import Manifest, SectionDigest, write_manifest
from search.bundles.format.open_bundle import RowDigest
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
