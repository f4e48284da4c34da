"""Changes of a workspace's embedding model by a caller, each recorded in the audit log."""

from typing import Any

from django.db import transaction

from ingest.jobs.queue.request import request_embedding
from ingest.services.embedding_status import hold_for_gate
from kebab.database.querysets import first_or_not_found
from kebab.identity.caller import Access
from kebab.identity.models import Workspace
from kebab.people import audit
from kebab.people.workspaces import store_settings
from search.embedders.configured import (
    allowed_embedders,
    find_maker,
    get_embedder,
    resolve_default,
    workspace_embedder_name,
)
from search.embedders.spec import DEFAULT
from search.errors import GoldenQueriesWorse, SpaceConflict, UnknownEmbedder
from search.evaluation.gate import Advance, GateVerdict
from search.evaluation.guard import allow_change, space_verdict
from search.models import EmbeddingSpace, SpaceState
from search.retrieval.errors import preview
from search.vectors.lifecycle import keep_live, require_complete_build, retire, roll_back, start_build, switch


def build_space(access: Access, *, embedder: str | None = None, hold: bool = False) -> EmbeddingSpace:
    """Start building a space and return it; a job fills it while searches use the live one.

    `embedder` becomes the workspace's choice; None means the present choice. Another choice that means the
    model in use ends the build of any other, and returns the live space. With `hold` the complete space waits
    for `switch_space`. Raises UnknownEmbedder, EmbedderUnavailable, SpaceConflict.
    """
    workspace = access.workspace
    present = workspace_embedder_name(workspace)
    name = present if embedder is None else embedder
    allowed = allowed_embedders()
    if name not in allowed:
        raise UnknownEmbedder(
            f"{preview(name)} is not allowed here; KEBAB_EMBEDDERS allows {', '.join(allowed)}."
        )
    chosen = get_embedder(resolve_default(workspace, name))
    if chosen is None:
        raise SpaceConflict("There is nothing to build for the embedder none: set it as the workspace's.")
    with transaction.atomic():
        # The job before the spaces, as the job itself locks them: else the two could wait for each other.
        request_embedding(workspace.pk, requested_by=access.actor, at_once=True)
        space = None if embedder in {None, present} else keep_live(workspace, chosen.space)
        act = "building" if space is None else "kept"
        space = space or start_build(workspace, chosen.space, switches_by_itself=not hold)
        if embedder is not None:
            store_settings(workspace, {"embedder": embedder})
        _record(access, act, space)
    return space


def switch_space(access: Access, *, force: bool = False, advance: Advance | None = None) -> EmbeddingSpace:
    """Make the built space live and return it; with `force` even if the golden queries get worse.

    Without `advance` a request waits for the answer. Raises GoldenQueriesWorse, GateOutOfTime, and
    SpaceConflict until it is complete.
    """
    building = require_complete_build(access.workspace)

    def verdict() -> GateVerdict:
        return space_verdict(access.workspace, building, advance=advance)

    try:
        facts = allow_change(access, verdict, is_forced=force)
    except GoldenQueriesWorse as error:
        hold_for_gate(building, error.sentence)
        raise
    with transaction.atomic():
        space = switch(access.workspace)
        _store_embedder_choice(access.workspace, space)
        if space.pk != building.pk:
            raise SpaceConflict(f"{space} was built meanwhile; look at it, and switch again.")
        _record(access, "switched", space, **facts)
    return space


def roll_back_space(access: Access) -> EmbeddingSpace:
    """Make the previously live space live again and return it. Raises SpaceConflict when there is none.

    Chunks that were written since have vectors there, or get them now.
    """
    with transaction.atomic():
        request_embedding(access.workspace.pk, requested_by=access.actor, at_once=True)
        space = roll_back(access.workspace)
        if find_maker(space) is None:
            raise SpaceConflict(
                f"No embedder of the settings makes vectors of {space}, so nobody could search it;"
                " name it in KEBAB_EMBEDDERS."
            )
        _store_embedder_choice(access.workspace, space)
        _record(access, "rolled_back", space)
    return space


def retire_space(access: Access, space_id: int) -> EmbeddingSpace:
    """Request the job that deletes a space that isn't live; return it. Raises NotFound, SpaceConflict."""
    found = first_or_not_found(EmbeddingSpace.objects.in_workspace(access.workspace).filter(pk=space_id))
    with transaction.atomic():
        request_embedding(access.workspace.pk, requested_by=access.actor, at_once=True)
        space = retire(found)
        live = EmbeddingSpace.objects.in_workspace(access.workspace).filter(state=SpaceState.LIVE).first()
        if live is not None and found.state == SpaceState.BUILDING:
            _store_embedder_choice(access.workspace, live)
        _record(access, "retired", space)
    return space


def _store_embedder_choice(workspace: Workspace, space: EmbeddingSpace) -> None:
    """Set the workspace's embedder to that of its live space, if it chose one or its languages do."""
    maker = find_maker(space)
    is_open = "embedder" in workspace.settings or workspace_embedder_name(workspace) == DEFAULT
    if is_open and maker is not None:
        store_settings(workspace, {"embedder": maker[0]})


def _record(access: Access, act: str, space: EmbeddingSpace, **facts: Any) -> None:
    audit.record(access, f"embedding.{act}", str(space), space=space.pk, **facts)
