"""What `kebab doctor` and `kebab status` say about mirrors and vectors."""

from collections.abc import Iterator, Mapping

from django.conf import settings

from kebab.health.checks import CheckResult, CheckStatus
from kebab.people.models import Workspace
from search import node
from search.embedding import configured_embedder
from search.mirror import connections
from search.mirror.checksum import check_integrity, mirror_checksum, postgres_checksum
from search.mirror.errors import MirrorError
from search.mirror.files import workspaces_on_this_node
from search.mirror.sync import rebuild_mirror, sync_mirror
from search.models import EmbeddingSpace, SpaceState
from search.vectors.fill import count_without_vector
from search.vectors.spaces import REMEDY, live_space, mismatch

_BUSY_S = 30.0


def check_mirrors(repair: bool) -> Iterator[CheckResult]:
    """Compare every mirror of this node with Postgres by checksum, and have FTS5 check its index."""
    for workspace in Workspace.objects.filter(pk__in=workspaces_on_this_node(settings.KEBAB_MIRROR_DIR)):
        name = f"mirror of {workspace.slug}"
        try:
            detail = _compare(workspace)
            yield CheckResult(name=name, status=CheckStatus.OK, detail=detail)
        except MirrorError as error:
            if repair:
                rebuild_mirror(node.mirror_files(workspace.pk), workspace.pk)
                yield CheckResult(name=name, status=CheckStatus.REPAIRED, detail=f"{error}; rebuilt")
            else:
                yield CheckResult(
                    name=name,
                    status=CheckStatus.FAILED,
                    detail=str(error),
                    remedy="Run kebab doctor --repair, or kebab mirror rebuild.",
                )


def _compare(workspace: Workspace) -> str:
    """Raises MirrorError when the mirror differs from Postgres at the number it has come to."""
    files = node.mirror_files(workspace.pk)
    for _ in range(5):  # a write between the two sums moves the head; look again
        sync_mirror(files, workspace.pk, wait_s=_BUSY_S)
        expected = postgres_checksum(workspace.pk)
        with files.writing(_BUSY_S):
            writer = connections.open_writer(files.current())
            try:
                found = mirror_checksum(writer)
                if found.seq == expected.seq:
                    check_integrity(writer)
                    break
            finally:
                writer.close()
    if found != expected:
        raise MirrorError(
            f"At change {found.seq} it has {found.documents} documents and {found.chunks} chunks,"
            f" Postgres at {expected.seq} {expected.documents} and {expected.chunks}, or the contents differ"
        )
    return f"{found.documents} documents, {found.chunks} chunks, equal to Postgres at change {found.seq}"


def check_coverage(repair: bool) -> Iterator[CheckResult]:
    """Say how many chunks of each workspace still lack a vector."""
    spaces = EmbeddingSpace.objects.filter(state=SpaceState.LIVE)
    for workspace in Workspace.objects.all():
        space = spaces.in_workspace(workspace).first()
        if space is None:
            continue
        missing = count_without_vector(space)
        yield CheckResult(
            name=f"vectors of {workspace.slug}",
            status=CheckStatus.WARNING if missing else CheckStatus.OK,
            detail=f"{missing} chunks wait for their vector in {space}"
            if missing
            else f"complete in {space}",
            remedy="They follow while an embedding worker runs." if missing else "",
        )


def check_models(repair: bool) -> Iterator[CheckResult]:
    """Say where the vectors are another model's than queries are embedded with."""
    embedder = configured_embedder()
    for workspace in Workspace.objects.all():
        space = live_space(workspace)
        if space is None or embedder is None:
            continue
        wrong = mismatch(space, embedder.space)
        yield CheckResult(
            name=f"model of {workspace.slug}",
            status=CheckStatus.FAILED if wrong else CheckStatus.OK,
            detail=wrong or f"{space.model}@{space.revision} made the vectors and embeds queries",
            remedy=REMEDY if wrong else "",
        )


def mirror_rows() -> list[Mapping[str, object]]:
    """Give, for each mirror of this node, how far it has followed."""
    present = Workspace.objects.filter(pk__in=workspaces_on_this_node(settings.KEBAB_MIRROR_DIR))
    rows = []
    for workspace in present.order_by("slug"):
        seq = node.mirror_seq(workspace.pk)
        rows.append(
            {
                "node": settings.KEBAB_NODE_ID,
                "workspace": workspace.slug,
                "head_seq": workspace.head_seq,
                "applied_seq": seq,
                "lag": max(0, workspace.head_seq - seq),
            }
        )
    return rows
