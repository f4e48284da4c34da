"""Changes of a workspace's embedding model by a caller, each recorded in the audit log."""

from typing import Any

from django.db import transaction

from ingest.services.model_change import (
    begin_reembedding,
    hold_for_gate,
    request_space_deletion,
    roll_back_spaces,
    switch_spaces,
)
from kebab.identity.caller import Access
from kebab.people import audit
from search.errors import GoldenQueriesWorse, SpaceConflict
from search.evaluation.gate import Advance, GateVerdict
from search.evaluation.guard import allow_change, space_verdict
from search.models import EmbeddingSpace
from search.vectors.lifecycle import require_complete_build


def build_space(access: Access, *, embedder: str | None = None, hold: bool = False) -> EmbeddingSpace:
    """Start building a space and return it. Raises the errors of `begin_reembedding`."""
    with transaction.atomic():
        space = begin_reembedding(access.workspace, embedder=embedder, hold=hold, requested_by=access.actor)
        _record(access, "building", space)
    return space


def switch_space(access: Access, *, force: bool = False, advance: Advance | None = None) -> EmbeddingSpace:
    """Make the built space live and return it; with `force` even if the golden queries get worse.

    Without `advance` a request waits for the answer. Raises GoldenQueriesWorse, GateOutOfTime, and the errors
    of `switch_spaces`.
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
        space = switch_spaces(access.workspace)
        if space.pk != building.pk:
            raise SpaceConflict(f"{space} was built meanwhile; look at it, and switch again.")
        _record(access, "switched", space, **facts)
    return space


def roll_back_space(access: Access) -> EmbeddingSpace:
    """Make the previously live space live again and return it. Raises the errors of `roll_back_spaces`."""
    with transaction.atomic():
        space = roll_back_spaces(access.workspace, requested_by=access.actor)
        _record(access, "rolled_back", space)
    return space


def retire_space(access: Access, space_id: int) -> EmbeddingSpace:
    """Request deletion of a space and return it. Raises the errors of `request_space_deletion`."""
    with transaction.atomic():
        space = request_space_deletion(access.workspace, space_id, requested_by=access.actor)
        _record(access, "retired", space)
    return space


def _record(access: Access, act: str, space: EmbeddingSpace, **facts: Any) -> None:
    audit.record(access, f"embedding.{act}", str(space), space=space.pk, **facts)
