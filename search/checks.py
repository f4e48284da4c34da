"""What `kebab doctor` and `kebab status` say about mirrors and vectors."""

from collections.abc import Iterator, Mapping

from django.conf import settings

from kebab.health.checks import CheckResult, CheckStatus
from kebab.people.models import Workspace
from search import node
from search.embedding import embedder_for_queries, wanted_embedder, wanted_name
from search.mirror import connections
from search.mirror.checksum import check_integrity, mirror_checksum, postgres_checksum
from search.mirror.errors import MirrorError
from search.mirror.files import workspaces_on_this_node
from search.mirror.sync import rebuild_mirror, sync_mirror
from search.models import SpaceState
from search.vectors.fill import count_without_vector
from search.vectors.lifecycle import ended_spaces, filled_spaces
from search.vectors.spaces import REMEDY, LiveSpace, is_made_by, live_space, mismatch

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
    """Say how many chunks of each workspace still lack a vector, in each space that is filled."""
    for workspace in Workspace.objects.all():
        for space in filled_spaces(workspace):
            missing = count_without_vector(space)
            place = "" if space.state == SpaceState.LIVE else f" ({space.state} space {space.pk})"
            yield CheckResult(
                name=f"vectors of {workspace.slug}{place}",
                status=CheckStatus.WARNING if missing else CheckStatus.OK,
                detail=f"{missing} chunks wait for their vector in {space}"
                if missing
                else f"complete in {space}",
                remedy="They follow while an embedding worker runs." if missing else "",
            )
        for space in ended_spaces(workspace):
            yield CheckResult(
                name=f"vectors of {workspace.slug} (retired space {space.pk})",
                status=CheckStatus.WARNING,
                detail=f"the time of {space} is over, and it has not been deleted yet",
                remedy="It is deleted while an embedding worker runs.",
            )


def check_models(repair: bool) -> Iterator[CheckResult]:
    """Say where the vectors are another model's than queries are embedded with, or than was asked for."""
    for workspace in Workspace.objects.all():
        space = live_space(workspace)
        embedder = None if space is None else embedder_for_queries(workspace, space)
        if space is None or embedder is None:
            continue
        yield _model_of(workspace, space, mismatch(space, embedder.space))


def _model_of(workspace: Workspace, space: LiveSpace, wrong: str | None) -> CheckResult:
    name, made = f"model of {workspace.slug}", f"{space.model}@{space.revision}"
    if wrong is not None:
        return CheckResult(name=name, status=CheckStatus.FAILED, detail=wrong, remedy=REMEDY)
    wanted = wanted_embedder(workspace)
    if wanted is not None and not is_made_by(space, wanted.space):
        return CheckResult(
            name=name,
            status=CheckStatus.WARNING,
            detail=f"{made} made the vectors and embeds queries, {wanted_name(workspace)} is asked for",
            remedy=f"Run: kebab reembed --workspace {workspace.slug}",
        )
    detail = f"{made} made the vectors and embeds queries"
    return CheckResult(name=name, status=CheckStatus.OK, detail=detail)


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
