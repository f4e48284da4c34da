"""The evaluation pages: golden queries and runs."""

import html
import re

import pytest

from ingest.jobs.queue.run import run_job
from ingest.models import Job
from kebab.identity.models import AuditEvent, Role
from search.evaluation.metrics import DEFAULT_MEASURES, OWN_MEASURES
from search.models import Judgement, Run, Topic
from tests.pages.page_text import markup_of, text_of
from tests.support.actors import make_workspace, member_client
from tests.support.corpus import write

# A worker's heartbeat and its mirror see what is committed.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def orchard(transactional_db, mirrors):
    workspace = make_workspace()
    write(workspace, "apples.md", "the apple harvest in autumn")
    write(workspace, "pears.md", "the pear harvest in late summer")
    workspace.refresh_from_db()
    return workspace


@pytest.fixture
def admin(orchard):
    return member_client(orchard, Role.ADMIN)


def at(workspace, tail=""):
    return f"/w/{workspace.slug}/evaluation{tail}"


def add(client, workspace, text="apple harvest", places="apples.md", **fields):
    given = {"text": text, "places": places, "topic_set": "golden", **fields}
    return client.post(at(workspace, "/topics/new"), given)


def start(client, workspace, **fields):
    answer = client.post(at(workspace, "/runs/new"), {"topic_set": "golden", "mode": "lexical", **fields})
    assert answer.status_code == 302, answer.content
    return Run.objects.latest("created_at"), answer["Location"]


def finished_run(client, workspace, **fields):
    run, _ = start(client, workspace, **fields)
    run_job(workspace.pk, run.job_id)
    run.refresh_from_db()
    assert run.state == "succeeded"
    return run


class TestGoldenQueries:
    def test_golden_query_is_added_with_its_citations(self, admin, orchard):
        empty = admin.get(at(orchard)).content.decode()
        assert f'href="{at(orchard, "/topics/new")}"' in empty
        assert at(orchard, "/runs/new") not in empty
        from_hit = {"q": 'why "pears"?', "place": "pears.md#L1"}
        brought = admin.get(at(orchard, "/topics/new"), from_hit).content.decode()
        assert 'value="why &quot;pears&quot;?"' in brought
        assert "pears.md#L1</textarea>" in brought
        answer = add(admin, orchard, places="apples.md#L1-L9\n\npears.md\napples.md#L1-L9")

        assert (answer.status_code, answer["Location"]) == (302, at(orchard) + "?set=golden")
        assert "apple harvest apples.md#L1-L9 pears.md " in text_of(admin.get(answer["Location"]))
        assert Topic.objects.get().origin == "golden"
        assert set(Judgement.objects.values_list("source__key", "path", "fragment", "grade")) == {
            ("docs", "apples.md", "L1-L9", 1),
            ("docs", "pears.md", "", 1),
        }
        add(admin, orchard, text="Apple  Harvest", places="pears.md")  # the same query
        assert (Topic.objects.get().text, Judgement.objects.get().path) == ("Apple  Harvest", "pears.md")
        add(admin, orchard, text="zebras", places="", is_unanswerable="on")
        assert Topic.objects.get(text="zebras").is_unanswerable

    def test_wrong_input_is_refused_and_nothing_is_lost(self, admin, orchard, subtests):
        for fields, status in (
            ({"text": " "}, 400),
            ({"places": ""}, 400),
            ({"places": "nowhere.md"}, 422),
            ({"places": "apples.md#nonsense"}, 400),
            ({"is_unanswerable": "on"}, 400),
            ({"topic_set": "x" * 65}, 400),
        ):
            with subtests.test(fields=fields):
                answer = add(admin, orchard, **{"text": "the <b>harvest</b>", **fields})
                found = answer.content.decode()

                assert answer.status_code == status, found
                assert html.escape(fields.get("text", "the <b>harvest</b>")).strip() in found
                assert fields.get("places", "apples.md") in found
                assert not Topic.objects.exists()

    def test_a_set_is_chosen_and_a_query_deleted(self, admin, orchard):
        add(admin, orchard)
        add(admin, orchard, text="pear harvest", places="pears.md", topic_set="summer")

        assert "pear harvest" in text_of(admin.get(at(orchard), {"set": "summer"}))
        assert "pear harvest" not in text_of(admin.get(at(orchard), {"set": "golden"}))
        for name in ("none", "\x00", "a\x00b", "<script>", "x" * 5_000):
            assert "<script>" not in markup_of(admin.get(at(orchard), {"set": name}))
        topic = Topic.objects.get(text="apple harvest")
        answer = admin.post(at(orchard, f"/topics/{topic.pk}/delete"))

        assert answer["Location"] == at(orchard) + "?set=golden"
        assert Topic.objects.get().text == "pear harvest"
        assert AuditEvent.objects.filter(action="topics.deleted").count() == 1

    def test_golden_queries_are_listed_page_by_page(self, admin, orchard):
        for number in range(51):
            Topic.objects.create(
                workspace=orchard, topic_id=f"t{number:02}", text=f"query number {number:02}"
            )
        first = admin.get(at(orchard)).content.decode()
        following = html.unescape(re.search(r'rel="next" href="([^"]+)"', first)[1])

        assert "query number 49" in first and "query number 50" not in first
        assert "query number 50" in admin.get(at(orchard) + following).content.decode()


class TestRuns:
    def test_started_run_shows_its_progress(self, admin, orchard):
        add(admin, orchard)
        run, address = start(admin, orchard, name="as <it> is")

        assert address == at(orchard, f"/runs/{run.pk}")
        assert (run.topic_set, run.settings["mode"], run.name) == ("golden", "lexical", "as <it> is")
        assert Job.objects.get(pk=run.job_id).kind == "evaluate"
        waiting = admin.get(address)
        assert "queued 0 of 1" in text_of(waiting)
        assert f'data-run="{address}"' in waiting.content.decode()
        polled = admin.get(address, headers={"HX-Request": "true"})
        assert text_of(polled).split()[:4] == ["queued", "0", "of", "1"]
        run_job(orchard.pk, run.job_id)
        done = admin.get(address)
        assert "Ranking quality (top 10) 1.000" in text_of(done)
        assert [name for name in (*DEFAULT_MEASURES, *OWN_MEASURES) if name in text_of(done)] == []
        assert "hx-trigger" not in done.content.decode()
        assert "as &lt;it&gt; is" in done.content.decode()

    def test_run_without_a_query_or_of_an_unknown_mode_is_refused(self, admin, orchard):
        asked = {"topic_set": "golden", "mode": "lexical"}
        assert admin.post(at(orchard, "/runs/new"), asked).status_code == 400
        add(admin, orchard)
        refused = admin.post(at(orchard, "/runs/new"), {"topic_set": "golden", "mode": "magic", "name": "x1"})

        assert refused.status_code == 400
        assert 'value="x1"' in refused.content.decode()
        assert not Run.objects.exists()

    def test_two_runs_are_compared(self, admin, orchard):
        add(admin, orchard)
        add(admin, orchard, text="pear harvest", places="pears.md")
        first = finished_run(admin, orchard, name="before")
        second = finished_run(admin, orchard, name="after")
        for run, text, changed in (
            (first, "apple harvest", {"empty_rate": 1.0}),
            (second, "pear harvest", {"empty_rate": 1.0, "nDCG@10": 0.5}),
        ):
            topic = run.topics.get(text=text)
            topic.measures = {**topic.measures, **changed}
            topic.save()

        def comparison_page(measure):
            asked = {"baseline": first.pk, "measure": measure}
            found = admin.get(at(orchard, f"/runs/{second.pk}"), asked)
            return text_of(found), html.unescape(found.content.decode())

        text, plotted = comparison_page("nDCG@10")
        assert "0 better, 1 worse, 1 the same." in text
        assert re.search(r"1\.000 → 0\.750: .*\(p 1\.000\)", text)
        assert "pear harvest -0.500" in text
        assert re.search(r"pear harvest: \w+ -0\.5<", plotted)
        assert plotted.count('<svg class="plot"') == 1
        assert "0 better, 0 worse, 2 the same." in comparison_page("RR@10")[0]
        # What ought to be low is lost where it rises.
        text, plotted = comparison_page("empty_rate")
        assert "1 better, 1 worse, 0 the same." in text
        assert re.search(r"pear harvest \+100 % .*apple harvest -100 %", text)
        assert "empty_rate" not in text
        assert re.search(r"pear harvest: \w+ -1<", plotted)
        assert re.search(r"apple harvest: \w+ \+1<", plotted)

    def test_a_run_is_repeated_and_deleted_and_compared_with_one_that_has_ended(self, admin, orchard):
        add(admin, orchard, places="pears.md")
        run = finished_run(admin, orchard, name="first")
        address = at(orchard, f"/runs/{run.pk}")
        assert "apple harvest apples.md pears.md 0.631" in text_of(admin.get(address))
        again = admin.post(f"{address}/repeat")
        waiting = Run.objects.exclude(pk=run.pk).get()
        assert again["Location"] == at(orchard, f"/runs/{waiting.pk}")
        for named, status in ((waiting.pk, 422), ("x", 404), (orchard.pk, 404)):
            assert admin.get(address, {"baseline": named}).status_code == status
        assert admin.post(f"{address}/delete")["Location"] == at(orchard)
        assert Run.objects.get() == waiting

    def test_errors_of_a_run_are_shown(self, admin, orchard):
        run = Run.objects.create(
            workspace=orchard, topic_set="golden", state="failed", error="The <index> burnt."
        )

        assert "The &lt;index&gt; burnt." in admin.get(at(orchard, f"/runs/{run.pk}")).content.decode()
        assert "failed" in text_of(admin.get(at(orchard)))


def test_rows_of_another_workspace_look_missing(admin, orchard):
    other = make_workspace()
    run = Run.objects.create(workspace=other, topic_set="golden")
    topic = Topic.objects.create(workspace=other, topic_id="x", text="x")
    for tail in (f"/runs/{run.pk}/repeat", f"/runs/{run.pk}/delete", f"/topics/{topic.pk}/delete"):
        assert admin.post(at(orchard, tail)).status_code == 404
        assert admin.post(at(other, tail)).status_code == 404
    assert admin.get(at(orchard, f"/runs/{run.pk}")).status_code == 404

    assert (Run.objects.count(), Topic.objects.count()) == (1, 1)
