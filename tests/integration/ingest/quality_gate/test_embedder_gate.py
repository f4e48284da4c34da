"""Another model goes live where golden queries don't get worse, or by force that is audited."""

import json

import pytest
from django.core.management import call_command

from ingest.services.model_change import begin_reembedding, embedding_status
from kebab.people.models import AuditEvent, Role
from kebab.people.operator import command_line_access
from kebab.people.reader import OPERATOR, Reader
from kebab.people.workspaces import store_settings
from search.evaluation import gate
from search.models import EmbeddingSpace, Run, Source
from search.retrieval.types import Mode
from tests.integration.ingest.quality_gate.conftest import FIRST, NAMES, SECOND, judge_golden
from tests.integration.search.embedders.spaces import dims, open_job
from tests.support.actors import member_client, token_client
from tests.support.corpus import restrict, write
from tests.support.jobs import embed, work
from tests.support.searching import ask

QUERIES = [f"who mentions the {name}" for name in NAMES] + ["kind of all others", "here it lives"]


@pytest.fixture
def embedded(zoo):
    """Return the zoo with vectors of the first embedder; what they find first is right."""
    assert embed(zoo).state == "succeeded"
    judge_golden(zoo, {query: ask(zoo, query, Mode.HYBRID).hits[0].doc_path for query in QUERIES})
    return zoo


def change(workspace, embedder, **options):
    """Build the embedder's space to the end; return the job."""
    begin_reembedding(workspace, embedder=embedder, **options)
    job = work(open_job())
    workspace.refresh_from_db()
    return job


def held(workspace, reader=OPERATOR):
    return embedding_status(workspace, reader)["building"]["held"]


def events(workspace, action):
    return AuditEvent.objects.filter(workspace=workspace, action=f"embedding.{action}")


def switch(workspace, client, **body):
    return client.post(f"/api/v1/workspaces/{workspace.slug}/embedding/switch", body, format="json")


def test_worse_model_is_built_and_held_with_the_reason(embedded):
    assert change(embedded, SECOND).state == "succeeded"

    assert dims(embedded) == {"live": 512, "building": 2}
    assert "1.0000" in held(embedded)
    assert "kebab reembed switch --force" in held(embedded)
    found = events(embedded, "held").get()
    assert (found.actor, found.detail["quality_gate"]["passes"]) == ("quality gate", False)
    # Searches go on in the live one, and the next job doesn't ask again.
    runs = Run.objects.in_workspace(embedded).count()
    assert embed(embedded).state == "succeeded"
    assert Run.objects.in_workspace(embedded).count() == runs == 2
    assert "hash-1-512@" in ask(embedded, "zebra", Mode.VECTOR).index_version

    write(embedded, "secret.md", "closed", source="closed")
    restrict(Source.objects.get(workspace=embedded, key="closed"))
    said = held(embedded, Reader())  # reads some sources, and sees no figures
    assert "--force" in said
    assert not any(digit in said for digit in "0123456789")
    EmbeddingSpace.objects.filter(state="building").update(held_because="")
    embed(embedded)
    response = switch(embedded, token_client(embedded, "manage"))
    assert response.status_code == 409
    assert not any(digit in response.json()["detail"] for digit in "0123456789")


def test_held_model_is_refused_at_each_door_and_goes_live_by_force(embedded, capsys):
    change(embedded, SECOND)
    client = member_client(embedded, Role.OWNER)
    response = switch(embedded, client)
    assert (response.status_code, response.json()["code"]) == (409, "quality_gate")
    with pytest.raises(SystemExit) as refused:
        call_command("reembed", "switch", f"--workspace={embedded.slug}", "--json")
    assert refused.value.code == 1
    assert json.loads(capsys.readouterr().err)["code"] == "quality_gate"
    assert dims(embedded) == {"live": 512, "building": 2}
    assert not events(embedded, "switched").exists()

    response = switch(embedded, client, force=True)
    assert response.status_code == 200
    assert (response.json()["live"]["dim"], response.json()["live"]["held"]) == (2, None)
    found = events(embedded, "switched").get().detail["quality_gate"]
    assert (found["before"], found["passes"], found["is_forced"]) == (1.0, False, True)
    assert found["after"] < 1.0

    # Going back is never refused.
    judge_golden(embedded, dict.fromkeys(QUERIES, "nowhere.md"))
    assert client.post(f"/api/v1/workspaces/{embedded.slug}/embedding/rollback").status_code == 200
    assert dims(embedded) == {"live": 512, "retired": 2}


def test_forced_switch_by_command_line_and_return_of_the_better_model(embedded, capsys):
    change(embedded, SECOND)
    call_command("reembed", "switch", f"--workspace={embedded.slug}", "--force", "--json")
    assert json.loads(capsys.readouterr().out)["live"]["dim"] == 2
    assert events(embedded, "switched").get().detail["quality_gate"]["is_forced"] is True

    # A better model goes live by itself.
    before = set(Run.objects.in_workspace(embedded).values_list("pk", flat=True))
    assert change(embedded, FIRST).state == "succeeded"
    assert dims(embedded) == {"live": 512, "retired": 2}
    first, second = Run.objects.in_workspace(embedded).exclude(pk__in=before).order_by("created_at")
    measured = [run.figures["measures"]["nDCG@10"] for run in (first, second)]
    assert measured[0] < measured[1] == 1.0


def test_model_goes_live_without_golden_queries(zoo, monkeypatch):
    monkeypatch.setattr(gate, "open_run", pytest.fail)
    embed(zoo)
    change(zoo, SECOND)
    assert dims(zoo) == {"live": 2, "retired": 512}


def test_held_model_is_asked_again_when_it_is_begun_again(embedded):
    change(embedded, SECOND)
    judge_golden(embedded, dict.fromkeys(QUERIES, "nowhere.md"))
    change(embedded, SECOND)
    assert dims(embedded) == {"live": 2, "retired": 512}


def test_incomplete_space_is_not_asked(embedded, monkeypatch):
    monkeypatch.setattr(gate, "open_run", pytest.fail)
    begin_reembedding(embedded, embedder=SECOND)
    response = switch(embedded, member_client(embedded, Role.OWNER))
    assert (response.status_code, response.json()["code"]) == (409, "space_conflict")


def test_audit_names_the_operator_of_the_command_line(embedded, capsys):
    change(embedded, SECOND, hold=True)
    judge_golden(embedded, dict.fromkeys(QUERIES, "nowhere.md"))
    call_command("reembed", "switch", f"--workspace={embedded.slug}", "--json")
    found = events(embedded, "switched").get()
    assert found.actor == command_line_access(embedded).actor
    assert found.detail["quality_gate"]["passes"] is True


def test_share_of_vectors_is_guarded(embedded):
    store_settings(embedded, {"fusion": "convex"})
    judge_golden(embedded, {query: ask(embedded, query, Mode.VECTOR).hits[0].doc_path for query in QUERIES})
    judge_golden(embedded, {"others live here of zebra": "zebra.md"})
    client = member_client(embedded, Role.OWNER)
    address = f"/api/v1/workspaces/{embedded.slug}"
    store_settings(embedded, {"vector_share": 1.0})
    response = client.patch(address, {"settings": {"vector_share": 0.0}}, format="json")
    assert (response.status_code, response.json()["code"]) == (409, "quality_gate")
    store_settings(embedded, {"vector_share": 0.0})
    assert client.patch(address, {"settings": {"vector_share": 1.0}}, format="json").status_code == 200
