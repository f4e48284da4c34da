"""Embedding goals of a workspace: its spaces to fill, their embedders, and the switch to a new space."""

import logging
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Q

from ingest.errors import JobFailed
from ingest.services.embedding_status import hold_for_gate
from kebab.identity.models import Workspace
from kebab.people import audit
from search.embedders.base import Embedder
from search.embedders.by_language import LOCAL_KINDS, english_share
from search.embedders.configured import find_maker, workspace_embedder, workspace_embedder_name
from search.embedders.spec import DEFAULT
from search.errors import SpaceConflict
from search.evaluation.gate import ACTOR, Advance
from search.evaluation.guard import space_verdict
from search.models import EmbeddingSpace, SpaceState
from search.vectors.backfill import count_without_vector
from search.vectors.lifecycle import filled_spaces, held_reason, keep_live, lock_spaces, start_build, switch
from search.vectors.spaces import ensure_live_space, is_made_by

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingGoal:
    """A space to fill with a vector of every chunk, and its embedder."""

    space: EmbeddingSpace
    embedder: Embedder

    @property
    def is_live(self) -> bool:
        """Return whether searches use it."""
        return self.space.state == SpaceState.LIVE

    @property
    def must_be_filled(self) -> bool:
        """Return whether the space is live or building; a retired one is filled if its embedder answers."""
        return self.space.state != SpaceState.RETIRED


def embedding_goals(workspace: Workspace) -> list[EmbeddingGoal]:
    """Return the spaces to fill, the live one first; none when the workspace has no embedder.

    Raises EmbedderUnavailable; JobFailed when no known embedder fits any space that must be filled.
    """
    wanted = workspace_embedder(workspace)
    if wanted is None:
        return []
    if not EmbeddingSpace.objects.in_workspace(workspace).filter(state=SpaceState.BUILDING).exists():
        live = ensure_live_space(workspace, wanted.space)
        if live.model in LOCAL_KINDS and not is_made_by(live, wanted.space):
            _follow_languages(live)
    spaces = filled_spaces(workspace)
    makers = [(space, find_maker(space)) for space in spaces]
    goals = [EmbeddingGoal(space=space, embedder=maker[1]) for space, maker in makers if maker is not None]
    if not any(goal.must_be_filled for goal in goals):
        raise JobFailed(
            f"The live space is {spaces[0]}, the configured embedder another. Set KEBAB_EMBEDDER back, or"
            " name the other in KEBAB_EMBEDDERS and run: kebab reembed"
        )
    return goals


def _follow_languages(live: EmbeddingSpace) -> None:
    """Start building the model of the workspace's languages beside the live one, if `default` is chosen."""
    with transaction.atomic():
        lock_spaces(live.workspace_id)
        # Read after the lock: others may have built or chosen until then.
        workspace = Workspace.objects.get(pk=live.workspace_id)
        spaces = EmbeddingSpace.objects.in_workspace(workspace)
        states = dict(spaces.filter(Q(pk=live.pk) | Q(state=SpaceState.BUILDING)).values_list("pk", "state"))
        if workspace_embedder_name(workspace) != DEFAULT or states != {live.pk: SpaceState.LIVE}:
            return
        wanted = workspace_embedder(workspace)
        if wanted is not None and not is_made_by(live, wanted.space):
            space = start_build(workspace, wanted.space)
            facts = {"space": space.pk, "english_share": english_share(workspace)}
            audit.record_person("kebab", "embedding.building", str(space), workspace=workspace, **facts)


def switch_when_complete(workspace: Workspace, *, advance: Advance = lambda: None) -> None:
    """Make the building space live once every chunk has a vector in it, unless it is held.

    It is held if the golden queries get worse in it. `advance` is called after each query; its errors pass.
    It expires instead if the workspace has chosen the live model meanwhile.
    """
    spaces = EmbeddingSpace.objects.in_workspace(workspace)
    building = spaces.filter(state=SpaceState.BUILDING).first()
    if building is None or count_without_vector(building) or held_reason(building) is not None:
        return
    verdict = space_verdict(workspace, building, advance=advance)
    if not verdict.passes:
        logger.warning("workspace %s: %s is held. %s", workspace.pk, building, verdict.sentence)
        with transaction.atomic():
            hold_for_gate(building, verdict.sentence)
            facts = {"space": building.pk, "quality_gate": verdict.figures}
            audit.record_person(ACTOR, "embedding.held", str(building), workspace=workspace, **facts)
        return
    try:
        with transaction.atomic():
            if not _keep_chosen(workspace):
                switch(workspace)
    except SpaceConflict as error:  # a chunk was written meanwhile; its writer requests another run
        logger.info("workspace %s: %s", workspace.pk, error)


def _keep_chosen(workspace: Workspace) -> bool:
    """Expire the building space if the workspace has chosen the live one's model; return whether it has."""
    lock_spaces(workspace)
    now = Workspace.objects.get(pk=workspace.pk)
    wanted = None if workspace_embedder_name(now) == DEFAULT else workspace_embedder(now)
    return wanted is not None and keep_live(now, wanted.space) is not None
