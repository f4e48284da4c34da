"""The spaces of a workspace, and a change from one to another."""

from ingest.models import Job
from ingest.services.embedding import build_space, retire_space, roll_back_space, switch_space
from kebab.identity.caller import operator_access
from search.models import ChunkVector, EmbeddingSpace
from tests.integration.search.embedders.conftest import SECOND
from tests.support.jobs import work


def build(workspace, **options):
    return build_space(operator_access(workspace, "test"), **options)


def switch(workspace):
    return switch_space(operator_access(workspace, "test"))


def roll_back(workspace):
    return roll_back_space(operator_access(workspace, "test"))


def retire(workspace, space_id):
    return retire_space(operator_access(workspace, "test"), space_id)


def open_job():
    return Job.objects.get(state__in=["queued", "running"])


def space_in(workspace, state):
    return EmbeddingSpace.objects.in_workspace(workspace).get(state=state)


def dims(workspace):
    """Return the dimension of the space in each state."""
    return dict(EmbeddingSpace.objects.in_workspace(workspace).values_list("state", "dim"))


def in_space(space):
    return ChunkVector.objects.in_workspace(space.workspace_id).filter(space=space.pk)


def change_embedder(workspace):
    """Change to the second embedder, and run the job."""
    build(workspace, embedder=SECOND)
    assert work(open_job()).state == "succeeded"
    workspace.refresh_from_db()
    return workspace
