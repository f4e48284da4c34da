"""A workspace's model changed by a caller, each act with its row in the audit log."""

from typing import Any

from django.db import transaction

from ingest.services.model_change import begin_reembedding, end_space, go_back, hold_back, switch_spaces
from kebab.people import audit
from kebab.people.access.caller import Access
from search.errors import GoldenQueriesWorse, SpaceConflict
from search.evaluation.gate import Advance, Verdict
from search.evaluation.guard import passed, space_verdict
from search.models import EmbeddingSpace
from search.vectors.lifecycle import complete_build


def build_space(access: Access, *, embedder: str | None = None, hold: bool = False) -> EmbeddingSpace:
    """Return the space that is built from now on. Raises what `begin_reembedding` raises."""
    with transaction.atomic():
        space = begin_reembedding(access.workspace, embedder=embedder, hold=hold, requested_by=access.actor)
        _record(access, "building", space)
    return space


def switch_to_built(access: Access, *, force: bool = False, advance: Advance | None = None) -> EmbeddingSpace:
    """Return the space that was built, live now; `force` lets it though golden queries get worse.

    Without `advance` a request waits for the answer. Raises GoldenQueriesWorse, GateOutOfTime, and what
    `switch_spaces` raises.
    """
    building = complete_build(access.workspace)

    def verdict() -> Verdict:
        return space_verdict(access.workspace, building, advance=advance)

    try:
        facts = passed(access, verdict, is_forced=force)
    except GoldenQueriesWorse as error:
        hold_back(building, error.sentence)
        raise
    with transaction.atomic():
        space = switch_spaces(access.workspace)
        if space.pk != building.pk:
            raise SpaceConflict(f"{space} was built meanwhile; look at it, and switch again.")
        _record(access, "switched", space, **facts)
    return space


def return_to_former(access: Access) -> EmbeddingSpace:
    """Return the space that was live before, live again. Raises what `go_back` raises."""
    with transaction.atomic():
        space = go_back(access.workspace, requested_by=access.actor)
        _record(access, "rolled_back", space)
    return space


def retire_space(access: Access, space_id: int) -> EmbeddingSpace:
    """Return the space that is deleted from now on, in a job. Raises what `end_space` raises."""
    with transaction.atomic():
        space = end_space(access.workspace, space_id, requested_by=access.actor)
        _record(access, "retired", space)
    return space


def _record(access: Access, act: str, space: EmbeddingSpace, **facts: Any) -> None:
    audit.record(access, f"embedding.{act}", str(space), space=space.pk, **facts)
