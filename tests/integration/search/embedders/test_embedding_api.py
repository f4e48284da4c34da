"""`/workspaces/{ws}/embedding`, and `kebab reembed`, which returns the same."""

from datetime import datetime

import pytest

from ingest.jobs.kinds.embed import embedding_goals
from ingest.models import Job
from ingest.services import embedding_status
from kebab.identity.models import AuditEvent
from kebab.identity.reader import Reader
from kebab.people.audit import operator_actor
from kebab.people.workspaces import store_settings
from search.corpus import ensure_source
from search.embedders.hash_embedder import HashEmbedder
from search.embedders.spec import DEFAULT, ENGLISH, MULTILINGUAL
from search.models import EmbeddingSpace
from search.retrieval.errors import EmbedderUnavailable
from tests.cli.commands import error_of, run_json
from tests.integration.search.embedders.conftest import FIRST, SECOND
from tests.integration.search.embedders.local_models import MODELS, write_in
from tests.support.actors import Role, member_client, token_client
from tests.support.api import address
from tests.support.corpus import make_workspace, restrict, write
from tests.support.jobs import embed, work
from tests.support.schemas import validate


@pytest.fixture
def client(workspace):
    return token_client(workspace, "manage")


@pytest.fixture
def embedded_workspace(workspace):
    write(workspace, "a.md", "one", "two")
    embed(workspace)
    return workspace


def work_off():
    for job in Job.objects.filter(state="queued"):
        work(job)


def verb(*arguments):
    """Return the command's output, after a check against its schema."""
    printed = run_json("reembed", *arguments)
    validate("embedding.v1", printed)
    return printed


def states(answer):
    body = answer.json()
    validate("embedding.v1", body)
    named = {name: body[name] and body[name]["embedder"] for name in ("live", "building")}
    return {**named, "retired": [each["embedder"] for each in body["retired"]]}


def test_embedder_is_changed_rolled_back_and_retired_over_http(client, embedded_workspace):
    answer = client.post(address(embedded_workspace, "/embedding"), {"embedder": SECOND}, format="json")
    assert (answer.status_code, states(answer)) == (
        202,
        {"live": FIRST, "building": SECOND, "retired": []},
    )
    assert answer.json()["building"]["coverage"] == 0.0
    assert answer.json()["job"] == str(Job.objects.get(state="queued").pk)
    work_off()
    answer = client.get(address(embedded_workspace, "/embedding"))
    assert (answer.status_code, states(answer)["live"], answer.json()["embedder"]) == (200, SECOND, SECOND)
    answer = client.post(address(embedded_workspace, "/embedding/rollback"))
    assert (answer.status_code, states(answer)["live"], answer.json()["embedder"]) == (200, FIRST, FIRST)
    work_off()
    space_id = answer.json()["retired"][0]["id"]
    answer = client.delete(address(embedded_workspace, f"/embedding/spaces/{space_id}"))
    assert (answer.status_code, states(answer)["retired"]) == (202, [SECOND])
    work_off()
    assert states(client.get(address(embedded_workspace, "/embedding")))["retired"] == []
    acts = (
        AuditEvent.objects.filter(workspace=embedded_workspace)
        .order_by("at")
        .values_list("action", flat=True)
    )
    assert list(acts) == ["embedding.building", "embedding.rolled_back", "embedding.retired"]


def test_api_and_command_report_the_same_embedding_status(client, workspace):
    def both():
        over_http, printed = client.get(address(workspace, "/embedding")).json(), verb("status")
        for status in (over_http, printed):
            validate("embedding.v1", status)
            for space in (status["live"], status["building"], *status["retired"]):
                for name in ("live_until", "kept_until", "created_at") if space else ():
                    space[name] = space[name] and datetime.fromisoformat(space[name]).replace(microsecond=0)
        assert over_http == printed
        return printed

    before = both()
    assert (before["workspace"], before["chunks"], before["live"]) == (workspace.slug, 0, None)
    write(workspace, "a.md", "one", "two")
    embed(workspace)
    verb("--embedder", SECOND, "--no-wait", "--hold")
    building = both()
    assert (building["building"]["coverage"], building["job"] is None) == (0.0, False)
    work_off()
    assert "reembed switch" in both()["building"]["held"]
    verb("switch")
    assert both()["retired"][0]["live_until"] is not None
    verb("rollback")
    back = both()
    assert (back["live"]["embedder"], back["retired"][0]["embedder"]) == (FIRST, SECOND)
    verb("retire", str(back["retired"][0]["id"]))
    work_off()
    assert both()["retired"] == []
    acts = AuditEvent.objects.filter(workspace=workspace, actor=operator_actor()).order_by("at")
    assert list(acts.values_list("action", flat=True)) == [
        "embedding.building",
        "embedding.switched",
        "embedding.rolled_back",
        "embedding.retired",
    ]


def test_embedding_status_shows_why_its_job_waits(client, embedded_workspace, monkeypatch):
    def dead(self, texts):
        raise EmbedderUnavailable("The embedder answered 503.")

    monkeypatch.setattr(HashEmbedder, "embed_passages", dead)
    write(embedded_workspace, "b.md", "three")
    embed(embedded_workspace)
    status = client.get(address(embedded_workspace, "/embedding")).json()
    validate("embedding.v1", status)
    assert (status["error"], status["chunks"], status["live"]["vectors"]) == (
        "The embedder answered 503.",
        3,
        2,
    )
    assert status["live"]["eta_s"] is None


@pytest.mark.parametrize("texts", [["one"], ["one", "two", "three", "four"]])
def test_coverage_stays_in_range_when_rows_change_between_counts(
    client, embedded_workspace, monkeypatch, texts
):
    real = embedding_status._vectors_by_space

    def write_behind(rows):
        vectors = real(rows)
        write(embedded_workspace, "a.md", *texts)
        return vectors

    monkeypatch.setattr(embedding_status, "_vectors_by_space", write_behind)
    status = client.get(address(embedded_workspace, "/embedding")).json()
    validate("embedding.v1", status)
    assert (status["live"]["vectors"], status["live"]["coverage"]) == (
        min(2, len(texts)),
        min(1, 2 / len(texts)),
    )


def test_switch_and_rollback_need_a_complete_space(client, embedded_workspace):
    for tail in ("switch", "rollback"):
        answer = client.post(address(embedded_workspace, f"/embedding/{tail}"))
        assert (answer.status_code, answer.json()["code"]) == (409, "space_conflict")
    client.post(address(embedded_workspace, "/embedding"), {"embedder": SECOND, "hold": True}, format="json")
    assert (
        client.post(address(embedded_workspace, "/embedding/switch")).status_code == 409
    )  # it is not complete
    work_off()
    assert states(client.get(address(embedded_workspace, "/embedding")))["building"] == SECOND
    assert states(client.post(address(embedded_workspace, "/embedding/switch")))["live"] == SECOND


def test_embedder_that_is_not_allowed_is_refused(client, embedded_workspace, subtests):
    for embedder in ("word2vec", "", "x" * 300, "hash:8", "openai:m?url=http://10.0.0.1/", 3, None):
        with subtests.test(embedder=embedder):
            answer = client.post(
                address(embedded_workspace, "/embedding"), {"embedder": embedder}, format="json"
            )
            assert answer.status_code in {400, 422}
            answer = client.patch(
                address(embedded_workspace, ""), {"settings": {"embedder": embedder}}, format="json"
            )
            assert answer.status_code == (200 if embedder is None else 400)
    assert EmbeddingSpace.objects.count() == 1


def test_a_workspace_may_choose_before_its_first_vector(client, workspace):
    client.patch(address(workspace, ""), {"settings": {"embedder": SECOND}}, format="json")
    write(workspace, "a.md", "one")
    embed(workspace)
    assert EmbeddingSpace.objects.get().dim == 512


def test_status_tells_the_share_in_english_by_which_the_model_is_chosen(english_team):
    write_in(english_team, "de", 5)
    embedding_goals(english_team)
    status = verb("status")
    assert (status["embedder"], status["english_share"]) == (DEFAULT, 0.8)
    assert [status[state]["embedder"] for state in ("live", "building")] == [ENGLISH, MULTILINGUAL]
    (row,) = embedding_status.model_rows()
    assert (row["model"], row["next"], row["missing"]) == (MODELS[ENGLISH], MODELS[MULTILINGUAL], 25)

    restrict(ensure_source(english_team, "closed", kind="upload"))
    assert embedding_status.embedding_status(english_team, Reader()).english_share is None
    store_settings(english_team, {"embedder": ENGLISH})
    assert verb("status")["english_share"] is None


def test_only_managers_change_the_model(embedded_workspace):
    readers = [token_client(embedded_workspace, "search"), member_client(embedded_workspace, Role.EDITOR)]
    space = EmbeddingSpace.objects.get()
    for reader in readers:
        assert reader.get(address(embedded_workspace, "/embedding")).status_code == 200
        assert reader.post(address(embedded_workspace, "/embedding"), {}, format="json").status_code == 403
        for tail in ("switch", "rollback"):
            assert reader.post(address(embedded_workspace, f"/embedding/{tail}")).status_code == 403
        assert reader.delete(address(embedded_workspace, f"/embedding/spaces/{space.pk}")).status_code == 403


def test_reembed_command_reports_the_error_codes_of_the_api(embedded_workspace):
    make_workspace()
    for arguments in (["switch"], ["rollback"], ["retire", str(EmbeddingSpace.objects.get().pk)]):
        error = error_of("reembed", *arguments, "--workspace", embedded_workspace.slug, code=2)
        assert error["code"] == "space_conflict"
    missing = error_of("reembed", "retire", "999999", "--workspace", embedded_workspace.slug, code=1)
    assert missing["code"] == "not_found"
    assert error_of("reembed", "status", code=2)["code"] == "workspace_needed"
