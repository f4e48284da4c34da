"""Another model goes live if golden queries do not get worse, or when forced, which is audited."""

import pytest

from ingest.services.embedding_status import embedding_status
from kebab.exit_codes import Exit
from kebab.identity.models import AuditEvent, Role
from kebab.identity.reader import OPERATOR, Reader
from kebab.people.operator import command_line_access
from kebab.people.workspaces import store_settings
from search.evaluation import gate
from search.models import EmbeddingSpace, Run, Source
from search.retrieval.types import Mode
from tests.cli.commands import error_of, run_json
from tests.integration.ingest.quality_gate.conftest import FIRST, NAMES, SECOND, judge_golden
from tests.integration.search.embedders.spaces import build, dims, open_job
from tests.support.actors import member_client, token_client
from tests.support.corpus import restrict, write
from tests.support.jobs import embed, work
from tests.support.search import ask

QUERIES = [f"who mentions the {name}" for name in NAMES] + ["kind of all others", "here it lives"]


@pytest.fixture
def embedded_zoo(zoo):
    """Return the zoo with vectors of the first embedder; what they find first is right."""
    assert embed(zoo).state == "succeeded"
    judge_golden(zoo, {query: ask(zoo, query, Mode.HYBRID).hits[0].doc_path for query in QUERIES})
    return zoo


def change(workspace, embedder, **options):
    """Build the embedder's space to the end; return the job."""
    build(workspace, embedder=embedder, **options)
    job = work(open_job())
    workspace.refresh_from_db()
    return job


def held_change(workspace, reader=OPERATOR):
    return embedding_status(workspace, reader).building.held


def events(workspace, action):
    return AuditEvent.objects.filter(workspace=workspace, action=f"embedding.{action}")


def switch(workspace, client, **body):
    return client.post(f"/api/v1/workspaces/{workspace.slug}/embedding/switch", body, format="json")


def test_worse_model_is_built_and_held_with_the_reason(embedded_zoo):
    assert change(embedded_zoo, SECOND).state == "succeeded"

    assert dims(embedded_zoo) == {"live": 512, "building": 2}
    assert "1.0000" in held_change(embedded_zoo)
    assert "kebab reembed switch --force" in held_change(embedded_zoo)
    found = events(embedded_zoo, "held").get()
    assert (found.actor, found.detail["quality_gate"]["passes"]) == ("quality gate", False)
    # Searches go on in the live one, and the next job doesn't ask again.
    runs = Run.objects.in_workspace(embedded_zoo).count()
    assert embed(embedded_zoo).state == "succeeded"
    assert Run.objects.in_workspace(embedded_zoo).count() == runs == 2
    assert "hash-1-512@" in ask(embedded_zoo, "zebra", Mode.VECTOR).index_version

    write(embedded_zoo, "secret.md", "closed", source="closed")
    restrict(Source.objects.get(workspace=embedded_zoo, key="closed"))
    held = held_change(embedded_zoo, Reader())  # reads some sources, and sees no figures
    assert "--force" in held
    assert not any(digit in held for digit in "0123456789")
    EmbeddingSpace.objects.filter(state="building").update(held_because="")
    embed(embedded_zoo)
    response = switch(embedded_zoo, token_client(embedded_zoo, "manage"))
    assert response.status_code == 409
    assert not any(digit in response.json()["detail"] for digit in "0123456789")


def test_held_model_goes_live_only_by_force_at_every_interface(embedded_zoo):
    change(embedded_zoo, SECOND)
    client = member_client(embedded_zoo, Role.OWNER)
    response = switch(embedded_zoo, client)
    assert (response.status_code, response.json()["code"]) == (409, "quality_gate")
    command = ("reembed", "switch", f"--workspace={embedded_zoo.slug}")
    assert error_of(*command, code=Exit.ERROR)["code"] == "quality_gate"
    assert dims(embedded_zoo) == {"live": 512, "building": 2}
    assert not events(embedded_zoo, "switched").exists()

    response = switch(embedded_zoo, client, force=True)
    assert response.status_code == 200
    assert (response.json()["live"]["dim"], response.json()["live"]["held"]) == (2, None)
    found = events(embedded_zoo, "switched").get().detail["quality_gate"]
    assert (found["before"], found["passes"], found["is_forced"]) == (1.0, False, True)
    assert found["after"] < 1.0

    # Going back is never refused.
    judge_golden(embedded_zoo, dict.fromkeys(QUERIES, "nowhere.md"))
    assert client.post(f"/api/v1/workspaces/{embedded_zoo.slug}/embedding/rollback").status_code == 200
    assert dims(embedded_zoo) == {"live": 512, "retired": 2}


def test_forced_switch_by_command_line_and_return_of_the_better_model(embedded_zoo):
    change(embedded_zoo, SECOND)
    command = ("reembed", "switch", f"--workspace={embedded_zoo.slug}", "--force")
    assert run_json(*command)["live"]["dim"] == 2
    assert events(embedded_zoo, "switched").get().detail["quality_gate"]["is_forced"] is True

    # A better model goes live by itself.
    before = set(Run.objects.in_workspace(embedded_zoo).values_list("pk", flat=True))
    assert change(embedded_zoo, FIRST).state == "succeeded"
    assert dims(embedded_zoo) == {"live": 512, "retired": 2}
    first, second = Run.objects.in_workspace(embedded_zoo).exclude(pk__in=before).order_by("created_at")
    measured = [run.figures["measures"]["nDCG@10"] for run in (first, second)]
    assert measured[0] < measured[1] == 1.0


def test_model_goes_live_without_golden_queries(zoo, monkeypatch):
    monkeypatch.setattr(gate, "open_run", pytest.fail)
    embed(zoo)
    change(zoo, SECOND)
    assert dims(zoo) == {"live": 2, "retired": 512}


def test_held_model_is_tested_again_when_its_build_is_restarted(embedded_zoo):
    change(embedded_zoo, SECOND)
    judge_golden(embedded_zoo, dict.fromkeys(QUERIES, "nowhere.md"))
    change(embedded_zoo, SECOND)
    assert dims(embedded_zoo) == {"live": 2, "retired": 512}


def test_incomplete_space_is_refused_without_a_test_run(embedded_zoo, monkeypatch):
    monkeypatch.setattr(gate, "open_run", pytest.fail)
    build(embedded_zoo, embedder=SECOND)
    response = switch(embedded_zoo, member_client(embedded_zoo, Role.OWNER))
    assert (response.status_code, response.json()["code"]) == (409, "space_conflict")


def test_audit_names_the_operator_of_the_command_line(embedded_zoo):
    change(embedded_zoo, SECOND, hold=True)
    judge_golden(embedded_zoo, dict.fromkeys(QUERIES, "nowhere.md"))
    run_json("reembed", "switch", f"--workspace={embedded_zoo.slug}")
    found = events(embedded_zoo, "switched").get()
    assert found.actor == command_line_access(embedded_zoo).actor
    assert found.detail["quality_gate"]["passes"] is True


def test_share_of_vectors_is_guarded(embedded_zoo):
    store_settings(embedded_zoo, {"fusion": "convex"})
    judge_golden(
        embedded_zoo, {query: ask(embedded_zoo, query, Mode.VECTOR).hits[0].doc_path for query in QUERIES}
    )
    judge_golden(embedded_zoo, {"others live here of zebra": "page-0.md"})
    client = member_client(embedded_zoo, Role.OWNER)
    address = f"/api/v1/workspaces/{embedded_zoo.slug}"
    store_settings(embedded_zoo, {"vector_share": 1.0})
    response = client.patch(address, {"settings": {"vector_share": 0.0}}, format="json")
    assert (response.status_code, response.json()["code"]) == (409, "quality_gate")
    store_settings(embedded_zoo, {"vector_share": 0.0})
    assert client.patch(address, {"settings": {"vector_share": 1.0}}, format="json").status_code == 200
