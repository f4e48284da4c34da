"""Steps after an import's commit; the next import repeats them if the process was killed before their end."""

from contextlib import suppress

from django.conf import settings

from kebab.errors import Conflict
from kebab.identity.models import AuditEvent, Workspace
from kebab.runtime.failpoints import reach
from kebab.tenancy.current_workspace import acting_in
from search.bundles.format.manifest import Manifest, manifest_digest
from search.bundles.progress import Progress
from search.mirror import local_mirrors
from search.mirror.errors import MirrorBusy
from search.mirror.sync.sync import rebuild_mirror
from search.models import ChunkVector, Document, EmbeddingSpace
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
    if _is_import_of(workspace, manifest) and _lacks_index(workspace):
        return workspace
    raise Conflict(
        f"The slug {slug!r} is taken; a bundle becomes a new workspace, so choose another one.",
        code="slug_taken",
    )


def _is_import_of(workspace: Workspace, manifest: Manifest) -> bool:
    events = AuditEvent.objects.filter(workspace=workspace, action=IMPORT_ACTION)
    return events.filter(detail__digest=manifest_digest(manifest)).exists()


def _lacks_index(workspace: Workspace) -> bool:
    return any(_is_large(space) and not space.is_indexed for space in filled_spaces(workspace))


def _is_large(space: EmbeddingSpace) -> bool:

    vectors = ChunkVector.objects.in_workspace(space.workspace_id).filter(space=space.pk)
    return vectors.count() >= settings.KEBAB_EXACT_SCAN_LIMIT


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
