"""A workspace's model changed by a caller, each act with its row in the audit log."""

from django.db import transaction

from ingest.reembedding import begin_reembedding, end_space, go_back, switch_spaces
from kebab.people import audit
from kebab.people.access import Access
from search.models import EmbeddingSpace


def build_space(access: Access, *, embedder: str | None = None, hold: bool = False) -> EmbeddingSpace:
    """Give the space that is built from now on. Raises what `begin_reembedding` raises."""
    with transaction.atomic():
        space = begin_reembedding(access.workspace, embedder=embedder, hold=hold, requested_by=access.actor)
        _record(access, "building", space)
    return space


def switch_to_built(access: Access) -> EmbeddingSpace:
    """Give the space that was built, live now. Raises what `switch_spaces` raises."""
    with transaction.atomic():
        space = switch_spaces(access.workspace)
        _record(access, "switched", space)
    return space


def return_to_former(access: Access) -> EmbeddingSpace:
    """Give the space that was live before, live again. Raises what `go_back` raises."""
    with transaction.atomic():
        space = go_back(access.workspace, requested_by=access.actor)
        _record(access, "rolled_back", space)
    return space


def retire_space(access: Access, space_id: int) -> EmbeddingSpace:
    """Give the space that is deleted from now on, in a job. Raises what `end_space` raises."""
    with transaction.atomic():
        space = end_space(access.workspace, space_id, requested_by=access.actor)
        _record(access, "retired", space)
    return space


def _record(access: Access, act: str, space: EmbeddingSpace) -> None:
    audit.record(access, f"embedding.{act}", str(space), space=space.pk)
