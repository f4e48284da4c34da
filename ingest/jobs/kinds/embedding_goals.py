"""Which spaces of a workspace get vectors, from whom, and when the one that is built goes live."""

import logging
from dataclasses import dataclass

from django.db import transaction

from ingest.errors import JobFailed
from ingest.services.model_change import hold_back
from kebab.people import audit
from kebab.people.models import Workspace
from search.embedders.base import Embedder
from search.embedders.configured import maker_of, wanted_embedder
from search.errors import SpaceConflict
from search.evaluation.gate import ACTOR, Advance, Verdict
from search.evaluation.guard import space_verdict
from search.models import EmbeddingSpace, SpaceState
from search.vectors.backfill import count_without_vector
from search.vectors.lifecycle import filled_spaces, switch, why_held
from search.vectors.spaces import ensure_live_space

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """A space that every chunk is to have a vector in, and what makes its vectors."""

    space: EmbeddingSpace
    embedder: Embedder

    @property
    def is_live(self) -> bool:
        """Return whether searches use it."""
        return self.space.state == SpaceState.LIVE

    @property
    def must_be_filled(self) -> bool:
        """Return whether somebody waits for it; one that is kept to go back to is filled if it can be."""
        return self.space.state != SpaceState.RETIRED


def embedding_goals(workspace: Workspace) -> list[Goal]:
    """Return the spaces to fill, the live one first; none when the workspace is to have no vectors.

    Raises EmbedderUnavailable, JobFailed when no known embedder makes the vectors of any that is waited for.
    """
    wanted = wanted_embedder(workspace)
    if wanted is None:
        return []
    if not EmbeddingSpace.objects.in_workspace(workspace).filter(state=SpaceState.BUILDING).exists():
        ensure_live_space(workspace, wanted.space)
    spaces = filled_spaces(workspace)
    makers = [(space, maker_of(space)) for space in spaces]
    goals = [Goal(space=space, embedder=maker[1]) for space, maker in makers if maker is not None]
    if not any(goal.must_be_filled for goal in goals):
        raise JobFailed(
            f"The live space is {spaces[0]}, the configured embedder another. Set KEBAB_EMBEDDER back, or"
            " name the other in KEBAB_EMBEDDERS and run: kebab reembed"
        )
    return goals


def switch_when_complete(workspace: Workspace, *, advance: Advance = lambda: None) -> None:
    """Let the space that is built go live once no chunk lacks a vector in it, unless it is to wait.

    Golden queries that get worse in it have it wait. `advance` is called after each; what it raises passes.
    """
    spaces = EmbeddingSpace.objects.in_workspace(workspace)
    building = spaces.filter(state=SpaceState.BUILDING).first()
    if building is None or count_without_vector(building) or why_held(building) is not None:
        return
    verdict = space_verdict(workspace, building, advance=advance)
    if not verdict.passes:
        _hold(workspace, building, verdict)
        return
    try:
        switch(workspace)
    except SpaceConflict as error:  # a chunk came in between; whoever wrote it asks for another look
        logger.info("workspace %s: %s", workspace.pk, error)


def _hold(workspace: Workspace, building: EmbeddingSpace, verdict: Verdict) -> None:
    logger.warning("workspace %s: %s is held. %s", workspace.pk, building, verdict.sentence)
    with transaction.atomic():
        hold_back(building, verdict.sentence)
        facts = {"space": building.pk, "quality_gate": verdict.figures}
        audit.record_person(ACTOR, "embedding.held", str(building), workspace=workspace, **facts)
