"""`default`: the languages of a workspace choose its local model, and change it beside searches."""

from threading import Barrier, Thread

import pytest
from django.db import connection
from django.utils import timezone

from ingest.cli.judged_documents import embed_all
from ingest.jobs.kinds.embed import embedding_goals
from ingest.models import Job
from ingest.tasks import end_spaces_task
from kebab.identity.caller import operator_access
from kebab.identity.models import AuditEvent
from kebab.people.workspaces import change_workspace, store_settings
from kebab.runtime import failpoints
from kebab.tenancy.current_workspace import acting_everywhere
from search.corpus import delete_documents
from search.embedders.by_language import model_for
from search.embedders.configured import workspace_embedder, workspace_embedder_name
from search.embedders.spec import DEFAULT, ENGLISH, MULTILINGUAL
from search.models import AskedQuery, Document, EmbeddingSpace
from search.retrieval.types import Mode
from search.vectors.backfill import count_without_vector
from search.vectors.lifecycle import workspaces_with_due_spaces
from search.vectors.spaces import ensure_live_space
from tests.integration.ingest.quality_gate.conftest import judge_golden
from tests.integration.search.embedders.local_models import Misled, StandIn, install, kinds, use, write_in
from tests.integration.search.embedders.spaces import (
    build,
    in_space,
    open_job,
    retire,
    roll_back,
    space_in,
    switch,
)
from tests.support.corpus import write, write_each
from tests.support.jobs import Killed, die, embed, expire, work
from tests.support.search import ask, sync


def automatic_builds(workspace):
    return AuditEvent.objects.filter(workspace=workspace, action="embedding.building", actor="kebab").count()


def test_model_follows_the_share_of_other_languages_with_hysteresis(team, subtests):
    write_each(team, [f"text {n}" for n in range(100)])
    write(team, "code.py", "x = 1", lang="und")
    live = ensure_live_space(team, StandIn(ENGLISH).space)
    for others, lang, from_english, from_multilingual in (
        (0, "de", ENGLISH, ENGLISH),
        (9, "en-GB", ENGLISH, ENGLISH),
        (1, "de", ENGLISH, MULTILINGUAL),
        (4, "ja", ENGLISH, MULTILINGUAL),
        (5, "fr-CA", MULTILINGUAL, MULTILINGUAL),
    ):
        Document.objects.exclude(lang="und").update(lang="en")
        Document.objects.filter(path__in=[f"{n:03}.md" for n in range(others)]).update(lang=lang)
        for present, expected in ((ENGLISH, from_english), (MULTILINGUAL, from_multilingual)):
            EmbeddingSpace.objects.filter(pk=live.pk).update(model=StandIn(present).space.model)
            with subtests.test(others=others, lang=lang, present=present):
                assert model_for(team) == expected


def test_model_stays_without_a_document_of_a_known_language(team):
    assert model_for(team) == ENGLISH
    write(team, "code.py", "x = 1", lang="und")
    assert model_for(team) == ENGLISH
    ensure_live_space(team, StandIn(MULTILINGUAL).space)
    assert model_for(team) == MULTILINGUAL


def test_model_that_is_not_installed_is_not_chosen(team, monkeypatch):
    for lang in ("de", "en"):
        write(team, "a.md", "text", lang=lang)
        for kind in (ENGLISH, MULTILINGUAL):
            install(monkeypatch, kind)
            assert model_for(team) == kind
    install(monkeypatch)
    assert model_for(team) == ENGLISH


def test_workspace_that_starts_in_another_language_has_its_model_at_once(team):
    write_in(team, "de", 3)
    embed(team)
    assert kinds(team) == {"live": MULTILINGUAL}
    sync(team)
    assert ask(team, "pear de2", Mode.VECTOR).hits[0].doc_path == "de-2.md"


def test_judged_set_is_embedded_by_the_model_of_its_languages(team):
    write_in(team, "ja", 2)
    embed_all(team, lambda _: None)
    assert kinds(team) == {"live": MULTILINGUAL}


def test_chosen_embedder_ignores_languages(english_team):
    write_in(english_team, "de", 2)
    for name, model in (
        ("english", "all-MiniLM-L6-v2"),
        ("multilingual", "multilingual-e5-small"),
        ("hash", "hash"),
    ):
        chosen = store_settings(english_team, {"embedder": name})
        assert workspace_embedder(chosen).space.model == model
        embed(chosen)
    assert kinds(english_team) == {"live": ENGLISH}


def test_workspace_that_becomes_mixed_is_switched_by_itself(english_team):
    write_in(english_team, "de", 1)
    embed(english_team)
    assert kinds(english_team) == {"live": ENGLISH}
    write_in(english_team, "de", 2, first=1)
    assert embed(english_team).state == "succeeded"
    assert kinds(english_team) == {"live": MULTILINGUAL, "retired": ENGLISH}
    assert automatic_builds(english_team) == 1
    assert workspace_embedder_name(english_team) == DEFAULT

    delete_documents_in(english_team, "de")
    embed(english_team)
    assert kinds(english_team) == {"live": ENGLISH, "retired": MULTILINGUAL}


def test_new_revision_of_a_local_model_is_built_by_itself(english_team):
    EmbeddingSpace.objects.update(revision="0")
    assert embed(english_team).state == "succeeded"
    assert kinds(english_team) == {"live": ENGLISH, "retired": ENGLISH}


def delete_documents_in(workspace, lang):
    documents = Document.objects.in_workspace(workspace).filter(lang=lang)
    delete_documents(workspace, list(documents.values_list("doc_id", flat=True)))


def begin_build(workspace):
    """Add documents in German, and let a job start the build of the other model, but not fill it."""
    write_in(workspace, "de", 2)
    embedding_goals(workspace)
    assert kinds(workspace) == {"live": ENGLISH, "building": MULTILINGUAL}


def go_back(workspace):
    begin_build(workspace)
    embed(workspace)
    roll_back(workspace)


def end_build(workspace):
    begin_build(workspace)
    retire(workspace, space_in(workspace, "building").pk)


def choose_the_live_model(workspace):
    begin_build(workspace)
    assert build(workspace, embedder=ENGLISH).state == "live"


def set_the_live_model(workspace):
    begin_build(workspace)
    change_workspace(operator_access(workspace, "test"), settings={"embedder": ENGLISH})


@pytest.mark.parametrize("decide", [go_back, end_build, choose_the_live_model, set_the_live_model])
def test_decision_of_a_person_stands_until_default_is_chosen_again(english_team, decide):
    decide(english_team)
    english_team.refresh_from_db()
    assert english_team.settings["embedder"] == ENGLISH
    for _ in range(2):
        embed(english_team)
        end_spaces_task()
        assert kinds(english_team).get("live") == ENGLISH
        assert "building" not in kinds(english_team)
    assert automatic_builds(english_team) == 1

    build(english_team, embedder=DEFAULT)
    english_team.refresh_from_db()
    work(open_job())
    assert (kinds(english_team)["live"], workspace_embedder_name(english_team)) == (MULTILINGUAL, DEFAULT)


def test_switch_by_a_person_keeps_the_model(english_team):
    begin_build(english_team)
    EmbeddingSpace.objects.filter(state="building").update(switches_by_itself=False)
    embed(english_team)
    switch(english_team)
    english_team.refresh_from_db()
    delete_documents_in(english_team, "de")
    embed(english_team)
    assert kinds(english_team) == {"live": MULTILINGUAL, "retired": ENGLISH}
    assert english_team.settings["embedder"] == MULTILINGUAL


def test_golden_queries_hold_back_a_worse_model_of_the_languages(english_team, monkeypatch):
    use(monkeypatch, multilingual=Misled)
    store_settings(english_team, {"vector_share": 1.0})
    write_in(english_team, "de", 2)
    sync(english_team)
    judge_golden(english_team, {f"pear en{n}": f"en-{n}.md" for n in range(5)})
    for _ in range(2):
        embed(english_team)
        end_spaces_task()
        assert kinds(english_team) == {"live": ENGLISH, "building": MULTILINGUAL}
    assert "--force" in space_in(english_team, "building").held_because
    assert automatic_builds(english_team) == 1


def test_default_is_chosen_again_without_a_build_where_its_model_is_in_use(english_team):
    chosen = store_settings(english_team, {"embedder": ENGLISH})
    assert build(chosen, embedder=DEFAULT).state == "live"
    english_team.refresh_from_db()
    assert english_team.settings["embedder"] == DEFAULT


def test_hourly_task_requests_what_no_write_did(english_team, monkeypatch):
    def requested():
        end_spaces_task()
        return [work(job).workspace_id for job in Job.objects.filter(state="queued")]

    assert requested() == []
    install(monkeypatch, ENGLISH)
    write_in(english_team, "de", 2)
    embed(english_team)
    assert (requested(), kinds(english_team)) == ([], {"live": ENGLISH})
    store_settings(english_team, {"embedder": ENGLISH})
    install(monkeypatch, ENGLISH, MULTILINGUAL)
    assert requested() == []
    store_settings(english_team, {"embedder": None})
    assert requested() == [english_team.pk]
    assert kinds(english_team) == {"live": MULTILINGUAL, "retired": ENGLISH}

    assert requested() == []
    delete_documents_in(english_team, "de")
    assert requested() == [english_team.pk]
    assert kinds(english_team) == {"live": ENGLISH, "retired": MULTILINGUAL}


def test_concurrent_jobs_start_one_build(english_team):
    write_in(english_team, "de", 2)
    together = Barrier(4, timeout=30)

    @acting_everywhere()
    def start():
        try:
            together.wait()
            embedding_goals(english_team)
        finally:
            connection.close()

    threads = [Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (kinds(english_team), automatic_builds(english_team)) == (
        {"live": ENGLISH, "building": MULTILINGUAL},
        1,
    )


@pytest.mark.parametrize("point", ["after_claim", "after_vectors", "after_build", "before_switch"])
def test_killed_worker_leaves_searches_and_one_switch(english_team, monkeypatch, point):
    write_in(english_team, "de", 30)
    sync(english_team)
    with monkeypatch.context() as patch:
        if point == "after_build":
            patch.setattr("ingest.jobs.kinds.embed.filled_spaces", die)
        elif point == "before_switch":
            patch.setattr("ingest.jobs.kinds.embed.switch", die)
        patch.setattr(failpoints, "reach", lambda name: die() if name == point else None)
        with pytest.raises(Killed):
            embed(english_team)
    answer = ask(english_team, "pear en3", Mode.HYBRID)
    assert (answer.hits[0].doc_path, answer.degraded) == ("en-3.md", ())
    job = open_job()
    expire(job)
    assert work(job).state == "succeeded"

    assert kinds(english_team) == {"live": MULTILINGUAL, "retired": ENGLISH}
    assert automatic_builds(english_team) == 1
    for space in EmbeddingSpace.objects.in_workspace(english_team):
        assert (count_without_vector(space), in_space(space).count()) == (0, 50)
    assert ask(english_team, "pear de29", Mode.VECTOR).hits[0].doc_path == "de-29.md"


def test_searches_in_other_languages_choose_the_model_too(team):
    write(team, "a.md", "The canteen opens at noon.", lang="en")
    german, english = "Wie lange kann man die Ware zurückgeben?", "How long is the warranty of the printer?"
    for asked, kind in (
        ([german] * 2, ENGLISH), ([german] * 3, MULTILINGUAL), ([german] * 3 + [english] * 60, ENGLISH)
    ):  # fmt: skip
        AskedQuery.objects.all().delete()
        assert model_for(team, asked) == kind
        AskedQuery.objects.bulk_create(
            AskedQuery(
                workspace=team, text=text, door="page", mode="hybrid", hits=1, took_ms=1,
                asked_at=timezone.now(), degraded=["vector"],
            )
            for text in asked
        )  # fmt: skip
        assert model_for(team) == kind
        live = ensure_live_space(team, StandIn(ENGLISH).space)
        assert (team.pk in workspaces_with_due_spaces()) == (kind == MULTILINGUAL)
        live.delete()
