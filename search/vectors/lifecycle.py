"""The life cycle of embedding spaces: a change of the model without an outage.

A space is built next to the live one, then they are switched. At most one space of a workspace is live and
one is being built. The former live space is kept complete until its retention expires, so that rolling back
is one step, too. Each step is one transaction; searches see the state before it or after it, never both.
"""

import logging
import uuid
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from kebab.identity.models import Workspace
from search.embedders.base import SpaceIdentity
from search.embedders.bert.model import ENGLISH_MODEL, MULTILINGUAL_MODEL
from search.embedders.by_language import MANY_OTHERS, has_choice, wants_other_model
from search.embedders.configured import workspace_embedder_name
from search.embedders.spec import DEFAULT
from search.errors import SpaceConflict
from search.models import AskedQuery, Document, EmbeddingSpace, SpaceState
from search.vectors.backfill import count_without_vector
from search.vectors.spaces import UNDETERMINED, identity_fields, is_made_by

logger = logging.getLogger(__name__)


def filled_spaces(workspace: Workspace) -> "list[EmbeddingSpace]":
    """Return the spaces that get vectors of new chunks: the live one, the one being built, retired ones."""
    spaces = EmbeddingSpace.objects.in_workspace(workspace).not_expired().order_by("-live_until", "pk")
    order = [SpaceState.LIVE, SpaceState.BUILDING, SpaceState.RETIRED]
    return sorted(spaces, key=lambda space: order.index(SpaceState(space.state)))


def expired_spaces(workspace: Workspace) -> "QuerySet[EmbeddingSpace]":
    """Return the spaces whose retention has expired, the oldest first."""
    spaces = EmbeddingSpace.objects.in_workspace(workspace)
    return spaces.filter(state=SpaceState.RETIRED, retire_at__lte=Now()).order_by("retire_at", "pk")


def workspaces_with_due_spaces() -> set[uuid.UUID]:
    """Return the workspaces that have an expired space, or whose languages ask for the other local model."""
    expired = EmbeddingSpace.objects.filter(state=SpaceState.RETIRED, retire_at__lte=Now())
    outgrown = filter(wants_other_model, outgrown_workspaces()) if has_choice() else ()
    return {*expired.values_list("workspace_id", flat=True), *(workspace.pk for workspace in outgrown)}


def outgrown_workspaces() -> list[Workspace]:
    """Return the workspaces on `default` that build nothing and whose languages may ask for the other model.

    Their stored share says so, their documents are all in English, or they searched without vectors, as in
    other languages than the model's.
    """
    others = Document.objects.exclude(Q(lang__in=("en", UNDETERMINED)) | Q(lang__startswith="en-"))
    building = EmbeddingSpace.objects.filter(state=SpaceState.BUILDING)
    of_workspace = {"workspace_id": OuterRef("workspace_id")}
    without = AskedQuery.objects.filter(degraded__contains=["vector"])
    outgrown = (
        Q(model=ENGLISH_MODEL, known_share__lte=1 - MANY_OTHERS)
        | (Q(model=ENGLISH_MODEL) & Exists(without.filter(**of_workspace)))
        | (Q(model=MULTILINGUAL_MODEL, known_share__isnull=False) & ~Exists(others.filter(**of_workspace)))
    )
    live = EmbeddingSpace.objects.filter(
        outgrown, ~Exists(building.filter(**of_workspace)), state=SpaceState.LIVE
    )
    found = [space.workspace for space in live.select_related("workspace").order_by("workspace__slug")]
    return [workspace for workspace in found if workspace_embedder_name(workspace) == DEFAULT]


def start_build(
    workspace: Workspace, identity: SpaceIdentity, *, switches_by_itself: bool = True
) -> EmbeddingSpace:
    """Start building a space for `identity` and return it; an existing space with its vectors is reused.

    Raises SpaceConflict when that space is live, or another one is being built.
    """
    with transaction.atomic():
        spaces = lock_spaces(workspace)
        same = next((space for space in spaces if is_made_by(space, identity)), None)
        other = _find_in_state(spaces, SpaceState.BUILDING)
        if same is not None and same.state == SpaceState.LIVE:
            raise SpaceConflict(f"The vectors are {same}'s already; there is nothing to build.")
        if other is not None and other != same:
            raise SpaceConflict(f"Vectors of {other} are being made; retire that space first ({other.pk}).")
        fields = {
            "state": SpaceState.BUILDING,
            "switches_by_itself": switches_by_itself,
            "held_because": "",
        }
        if same is None:
            return EmbeddingSpace.objects.create(workspace=workspace, **identity_fields(identity), **fields)
        return _update(same, **fields, retire_at=None, live_until=None)


def keep_live(workspace: Workspace, identity: SpaceIdentity) -> EmbeddingSpace | None:
    """Return the live space if `identity` makes its vectors, and expire the one being built; else None."""
    with transaction.atomic():
        spaces = lock_spaces(workspace)
        live, building = (_find_in_state(spaces, state) for state in (SpaceState.LIVE, SpaceState.BUILDING))
        if live is None or not is_made_by(live, identity):
            return None
        if building is not None:
            retire(building)
        return live


def held_reason(building: EmbeddingSpace) -> str | None:
    """Return the reason why a complete space doesn't go live automatically, None if it does."""
    if building.held_because:
        return building.held_because
    return None if building.switches_by_itself else "It was asked to wait; run: kebab reembed switch"


def hold(building: EmbeddingSpace, reason: str) -> None:
    """Prevent a space that is being built from going live automatically; its status shows the reason."""
    if building.state == SpaceState.BUILDING:
        _update(building, held_because=reason)


def require_complete_build(workspace: Workspace) -> EmbeddingSpace:
    """Return the space that is being built. Raises SpaceConflict if there is none, or it isn't complete."""
    spaces = EmbeddingSpace.objects.in_workspace(workspace)
    return _require_complete(list(spaces.filter(state=SpaceState.BUILDING)))


def switch(workspace: Workspace) -> EmbeddingSpace:
    """Make the space that is being built live and return it. Raises SpaceConflict until it is complete."""
    with transaction.atomic():
        spaces = lock_spaces(workspace)
        return _go_live(_require_complete(spaces), _find_in_state(spaces, SpaceState.LIVE))


def roll_back(workspace: Workspace) -> EmbeddingSpace:
    """Make the previously live space live again and return it. Raises SpaceConflict without one."""
    with transaction.atomic():
        spaces = lock_spaces(workspace)
        now = timezone.now()
        kept = [
            (space.live_until, space)
            for space in spaces
            if space.state == SpaceState.RETIRED
            and space.live_until
            and space.retire_at is not None
            and space.retire_at > now
        ]
        if not kept:
            raise SpaceConflict("No space that was live before is kept; there is nothing to go back to.")
        _, latest = max(kept, key=lambda pair: pair[0])
        return _go_live(latest, _find_in_state(spaces, SpaceState.LIVE))


def retire(space: EmbeddingSpace) -> EmbeddingSpace:
    """Expire the space, so that it is deleted with its vectors, and return it.

    Raises SpaceConflict for the live space.
    """
    with transaction.atomic():
        now = {each.pk: each for each in lock_spaces(space.workspace_id)}.get(space.pk)
        if now is None:
            raise SpaceConflict(f"The space {space.pk} is gone.")
        if now.state == SpaceState.LIVE:
            raise SpaceConflict(f"{now} is live; switch to another space first.")
        return _update(now, state=SpaceState.RETIRED, retire_at=timezone.now())


def _require_complete(spaces: list[EmbeddingSpace]) -> EmbeddingSpace:
    building = _find_in_state(spaces, SpaceState.BUILDING)
    if building is None:
        raise SpaceConflict("No space is being built, so there is nothing to switch to.")
    if count_without_vector(building):  # the number is not shown: not all who may switch may know it
        raise SpaceConflict(f"Not every chunk has a vector of {building} yet; it can't go live.")
    return building


def _go_live(space: EmbeddingSpace, before: EmbeddingSpace | None) -> EmbeddingSpace:
    now = timezone.now()
    if before is not None:
        kept_until = now + timedelta(days=settings.KEBAB_KEEP_SPACE_DAYS)
        _update(before, state=SpaceState.RETIRED, live_until=now, retire_at=kept_until)
    logger.info("workspace %s: vectors of %s are searched from now on", space.workspace_id, space)
    return _update(space, state=SpaceState.LIVE, live_until=None, retire_at=None, held_because="")


def lock_spaces(workspace: Workspace | uuid.UUID) -> list[EmbeddingSpace]:
    """Lock and return the workspace's spaces, to serialise steps without blocking writers of vectors."""
    spaces = EmbeddingSpace.objects.in_workspace(workspace)
    return list(spaces.select_for_update(no_key=True).order_by("pk"))


def _find_in_state(spaces: list[EmbeddingSpace], state: SpaceState) -> EmbeddingSpace | None:
    return next((space for space in spaces if space.state == state), None)


def _update(space: EmbeddingSpace, **fields: object) -> EmbeddingSpace:
    EmbeddingSpace.objects.in_workspace(space.workspace_id).filter(pk=space.pk).update(**fields)
    space.refresh_from_db()
    return space
