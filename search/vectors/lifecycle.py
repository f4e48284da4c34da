"""From one model to another without an outage: a space is built beside the live one, then they change places.

At most one space of a workspace is live and one is being built. What was live stays, and is kept full, until
its time is over, so that going back is one step too. Each step is one transaction; searches see the state
before it or after it, never both.
"""

import logging
import uuid
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from kebab.people.models import Workspace
from search.embedders.base import SpaceIdentity
from search.errors import SpaceConflict
from search.models import EmbeddingSpace, SpaceState
from search.vectors.backfill import count_without_vector
from search.vectors.spaces import identity_fields, is_made_by

logger = logging.getLogger(__name__)


def filled_spaces(workspace: Workspace) -> "list[EmbeddingSpace]":
    """Return the spaces that chunks get vectors in: first the live one, then the one built, then
    those kept.
    """
    spaces = EmbeddingSpace.objects.in_workspace(workspace).filter(not_ended()).order_by("-live_until", "pk")
    order = [SpaceState.LIVE, SpaceState.BUILDING, SpaceState.RETIRED]
    return sorted(spaces, key=lambda space: order.index(SpaceState(space.state)))


def ended_spaces(workspace: Workspace) -> "QuerySet[EmbeddingSpace]":
    """Return the spaces whose time is over, the longest first."""
    spaces = EmbeddingSpace.objects.in_workspace(workspace)
    return spaces.filter(state=SpaceState.RETIRED, retire_at__lte=Now()).order_by("retire_at", "pk")


def workspaces_with_ended_spaces() -> list[uuid.UUID]:
    """Return the workspaces that have a space whose time is over."""
    ended = EmbeddingSpace.objects.filter(state=SpaceState.RETIRED, retire_at__lte=Now())
    return list(ended.order_by("workspace_id").values_list("workspace_id", flat=True).distinct())


def not_ended() -> Q:
    """Return the condition that a space is live, being built, or kept."""
    return ~Q(state=SpaceState.RETIRED) | Q(retire_at__gt=Now())


def begin_build(
    workspace: Workspace, identity: SpaceIdentity, *, switches_by_itself: bool = True
) -> EmbeddingSpace:
    """Return the space that is built for `identity` from now on; vectors of an earlier one are taken up
    again.

    Raises SpaceConflict when vectors of it are live, or another space is being built.
    """
    with transaction.atomic():
        spaces = _locked(workspace)
        same = next((space for space in spaces if is_made_by(space, identity)), None)
        other = _in_state(spaces, SpaceState.BUILDING)
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
        return _changed(same, **fields, retire_at=None, live_until=None)


def why_held(building: EmbeddingSpace) -> str | None:
    """Return why a complete space does not go live by itself, None: it does."""
    if building.held_because:
        return building.held_because
    return None if building.switches_by_itself else "It was asked to wait; run: kebab reembed switch"


def hold(building: EmbeddingSpace, reason: str) -> None:
    """Keep a space that is being built from going live by itself, with the reason that its status shows."""
    if building.state == SpaceState.BUILDING:
        _changed(building, held_because=reason)


def complete_build(workspace: Workspace) -> EmbeddingSpace:
    """Return the space that is being built. Raises SpaceConflict when there is none, or it is not
    complete.
    """
    spaces = EmbeddingSpace.objects.in_workspace(workspace)
    return _complete(list(spaces.filter(state=SpaceState.BUILDING)))


def switch(workspace: Workspace) -> EmbeddingSpace:
    """Make the space that is being built the live one, give it. Raises SpaceConflict until it is complete."""
    with transaction.atomic():
        spaces = _locked(workspace)
        return _go_live(_complete(spaces), _in_state(spaces, SpaceState.LIVE))


def roll_back(workspace: Workspace) -> EmbeddingSpace:
    """Make the space that was live before the live one again, give it. Raises SpaceConflict without one."""
    with transaction.atomic():
        spaces = _locked(workspace)
        now = timezone.now()
        kept = [
            space
            for space in spaces
            if space.state == SpaceState.RETIRED and space.live_until and space.retire_at > now
        ]
        if not kept:
            raise SpaceConflict("No space that was live before is kept; there is nothing to go back to.")
        latest = max(kept, key=lambda space: space.live_until)
        return _go_live(latest, _in_state(spaces, SpaceState.LIVE))


def retire(space: EmbeddingSpace) -> EmbeddingSpace:
    """Let the space be deleted with its vectors, and give it. Raises SpaceConflict for the live one."""
    with transaction.atomic():
        now = {each.pk: each for each in _locked(space.workspace_id)}.get(space.pk)
        if now is None:
            raise SpaceConflict(f"The space {space.pk} is gone.")
        if now.state == SpaceState.LIVE:
            raise SpaceConflict(f"{now} is live; switch to another space first.")
        return _changed(now, state=SpaceState.RETIRED, retire_at=timezone.now())


def _complete(spaces: list[EmbeddingSpace]) -> EmbeddingSpace:
    building = _in_state(spaces, SpaceState.BUILDING)
    if building is None:
        raise SpaceConflict("No space is being built, so there is nothing to switch to.")
    if count_without_vector(building):  # how many they are is not for all who may switch to know
        raise SpaceConflict(f"Not every chunk has a vector of {building} yet; it can't go live.")
    return building


def _go_live(space: EmbeddingSpace, before: EmbeddingSpace | None) -> EmbeddingSpace:
    now = timezone.now()
    if before is not None:
        kept_until = now + timedelta(days=settings.KEBAB_KEEP_SPACE_DAYS)
        _changed(before, state=SpaceState.RETIRED, live_until=now, retire_at=kept_until)
    logger.info("workspace %s: vectors of %s are searched from now on", space.workspace_id, space)
    return _changed(space, state=SpaceState.LIVE, live_until=None, retire_at=None, held_because="")


def _locked(workspace: Workspace | uuid.UUID) -> list[EmbeddingSpace]:
    """Lock the workspace's spaces, so that steps come one by one; writers of vectors are not in the way."""
    spaces = EmbeddingSpace.objects.in_workspace(workspace)
    return list(spaces.select_for_update(no_key=True).order_by("pk"))


def _in_state(spaces: list[EmbeddingSpace], state: SpaceState) -> EmbeddingSpace | None:
    return next((space for space in spaces if space.state == state), None)


def _changed(space: EmbeddingSpace, **fields: object) -> EmbeddingSpace:
    EmbeddingSpace.objects.in_workspace(space.workspace_id).filter(pk=space.pk).update(**fields)
    space.refresh_from_db()
    return space
