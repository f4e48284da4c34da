"""Checks of mirrors and vectors for `kebab doctor`, and rows about mirrors for `kebab status`."""

import random
import uuid
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from heapq import nlargest

import apsw
from django.conf import settings

from kebab.health.checks import (
    CheckResult,
    failed_result,
    ok_result,
    repaired_result,
    warning_result,
)
from kebab.identity.models import Workspace
from search.embedders.by_language import LOCAL_KINDS
from search.embedders.configured import embedder_for_queries, workspace_embedder, workspace_embedder_name
from search.embedders.spec import DEFAULT
from search.mirror import local_mirrors
from search.mirror.files import MirrorBusy, MirrorError, workspaces_on_this_node
from search.mirror.sync.checksum import check_integrity, mirror_checksum, postgres_checksum
from search.mirror.sync.sync import lock_at_head, rebuild_mirror
from search.models import EmbeddingSpace, SpaceState
from search.vectors.checks import check_coverage
from search.vectors.spaces import REMEDY, LiveSpace, describe_mismatch, is_made_by, to_live_space

__all__ = ["check_all_mirrors", "check_coverage", "check_mirrors", "check_models", "mirror_rows"]

_BUSY_S = 30.0
# Mirrors checked by default; each takes about 20 ms on an idle machine.
_MOST = 500
# Opening a mirror takes a millisecond, and nobody reads thousands of lines.
_MOST_ROWS = 200


def check_mirrors(repair: bool) -> Iterator[CheckResult]:
    """Compare this node's mirrors with Postgres by checksum, and have FTS5 check their indexes.

    Of more than 500 mirrors a new random sample is checked each time; a repair checks all.
    """
    present = workspaces_on_this_node(settings.KEBAB_MIRROR_DIR)
    checked = present if repair or len(present) <= _MOST else random.sample(present, _MOST)
    yield from _compare_all(checked, repair=repair)
    if rest := len(present) - len(checked):
        yield ok_result("mirrors", f"{rest:,} more were not looked at this time; kebab doctor --deep does")


def check_all_mirrors(repair: bool) -> Iterator[CheckResult]:
    """Compare every mirror of this node with Postgres."""
    yield from _compare_all(workspaces_on_this_node(settings.KEBAB_MIRROR_DIR), repair=repair)


def _compare_all(present: Sequence[uuid.UUID], *, repair: bool) -> Iterator[CheckResult]:
    for workspace in Workspace.objects.filter(pk__in=present):
        name = f"mirror of {workspace.slug}"
        try:
            yield ok_result(name, _compare(workspace))
        except MirrorBusy as error:
            yield warning_result(name, f"It can't be compared now: {error}", "Run kebab doctor again.")
        except (MirrorError, apsw.Error, OSError) as error:
            if repair:
                rebuild_mirror(local_mirrors.mirror_files(workspace.pk), workspace.pk)
                yield repaired_result(name, f"{error}; rebuilt")
            else:
                yield failed_result(name, str(error), "Run kebab doctor --repair, or kebab mirror rebuild.")


def _compare(workspace: Workspace) -> str:
    """Sync a mirror, compare it with the same Postgres snapshot and return a summary.

    Raises MirrorError when they differ.
    """
    files = local_mirrors.mirror_files(workspace.pk)
    expect = partial(postgres_checksum, workspace.pk)
    with lock_at_head(files, workspace.pk, expect, wait_s=_BUSY_S) as (writer, expected):
        found = mirror_checksum(writer)
        check_integrity(writer)
    if found != expected:
        raise MirrorError(
            f"At change {found.seq} it has {found.documents} documents and {found.chunks} chunks,"
            f" Postgres at {expected.seq} {expected.documents} and {expected.chunks}, or the contents differ"
        )
    return f"{found.documents} documents, {found.chunks} chunks, equal to Postgres at change {found.seq}"


def check_models(repair: bool) -> Iterator[CheckResult]:
    """Check that each live space was made by the model that embeds queries and that the settings name."""
    live = EmbeddingSpace.objects.filter(state=SpaceState.LIVE)
    spaces = {space.workspace_id: to_live_space(space) for space in live}
    for workspace in Workspace.objects.filter(pk__in=spaces.keys()):
        space = spaces[workspace.pk]
        embedder = embedder_for_queries(workspace, space)
        if embedder is None:
            continue
        yield _check_model(workspace, space, describe_mismatch(space, embedder.space))


def _check_model(workspace: Workspace, space: LiveSpace, wrong: str | None) -> CheckResult:
    name, made = f"model of {workspace.slug}", f"{space.model}@{space.revision}"
    if wrong is not None:
        return failed_result(name, wrong, REMEDY)
    asked, wanted = workspace_embedder_name(workspace), workspace_embedder(workspace)
    detail = f"{made} made the vectors and embeds queries"
    is_wanted = wanted is None or is_made_by(space, wanted.space)
    if asked == DEFAULT and (is_wanted or space.model in LOCAL_KINDS):
        detail += ", by its languages" if is_wanted else "; its languages ask for another, which follows"
    elif not is_wanted:
        remedy = f"Run: kebab reembed --workspace {workspace.slug}"
        return warning_result(name, f"{detail}, {asked} is asked for", remedy)
    return ok_result(name, detail)


def mirror_rows() -> list[Mapping[str, object]]:
    """Return head, applied change and lag of this node's mirrors, of at most the 200 last used, by slug."""
    ids = workspaces_on_this_node(settings.KEBAB_MIRROR_DIR)
    if len(ids) > _MOST_ROWS:
        ids = nlargest(_MOST_ROWS, ids, key=lambda id_: local_mirrors.mirror_files(id_).last_used())
    present = Workspace.objects.filter(pk__in=ids)
    rows: list[Mapping[str, object]] = []
    for workspace in present.order_by("slug"):
        seq = local_mirrors.mirror_seq(workspace.pk)
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
