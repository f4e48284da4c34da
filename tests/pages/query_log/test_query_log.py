"""The query log: stored fields, cost, and failures that do not affect searches."""

import logging
import uuid
from datetime import timedelta
from threading import Event

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from kebab.identity.caller import Caller, caller_access
from kebab.identity.reader import OPERATOR
from kebab.people.workspaces import store_settings
from kebab.tenancy.current_workspace import acting_everywhere, acting_nowhere
from search.evaluation.judged import JudgedTopic
from search.evaluation.run_topics import TopicRunner
from search.evaluation.settings import RunSettings
from search.mcp.call_context import Call
from search.mcp.tools.arguments import SearchArguments
from search.mcp.tools.search import search_tool
from search.models import AskedQuery, Door
from search.query_log.buffer import LoggedQuery, QueryLog
from search.query_log.storage import prune_queries, store_queries
from search.retrieval.types import Mode
from tests.cli.commands import run
from tests.pages.query_log.factories import make_query
from tests.support.actors import make_member, member_client, token_client
from tests.support.corpus import make_workspace, write_each
from tests.support.search import sync


def note_query(workspace, text, *, after_s=0.0, **fields):
    values = {
        "workspace_id": getattr(workspace, "pk", workspace),
        "text": text,
        "door": Door.PAGE,
        "mode": Mode.HYBRID,
        "hits": 3,
        "lexical_total": 3,
        "took_ms": 10.0,
        "degraded": (),
        "asked_at": timezone.now() + timedelta(seconds=after_s - 30),
        "caller": "user:1",
    }
    return LoggedQuery(**{**values, **fields})


def by_page(workspace):
    return member_client(workspace).get(f"/w/{workspace.slug}/search", {"q": "Apple", "mode": "lexical"})


def by_api(workspace):
    address = f"/api/v1/workspaces/{workspace.slug}/search"
    return token_client(workspace, "search").get(address, {"q": "Apple", "mode": "lexical"})


def by_bulk(workspace):
    body = {"queries": [{"q": "Apple", "mode": "lexical"}, {"q": "Apple", "mode": "nonsense"}]}
    address = f"/api/v1/workspaces/{workspace.slug}/search/bulk"
    return token_client(workspace, "search").post(address, body, format="json")


def by_mcp(workspace):
    access = caller_access(Caller(user=make_member(workspace)), workspace.slug)
    return search_tool(Call(access=access), SearchArguments(query="Apple", mode="lexical"))


def by_command_line(workspace):
    return run("search", "Apple", "--mode", "lexical", "--workspace", workspace.slug)


@pytest.mark.parametrize(
    ("ask", "door"),
    [(by_page, "page"), (by_api, "api"), (by_bulk, "api"), (by_mcp, "mcp"), (by_command_line, "cli")],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_queries_of_each_interface_are_logged(searched_workspace, log, ask, door):
    ask(searched_workspace)
    log.flush()

    row = AskedQuery.objects.get()
    assert (row.workspace_id, row.text, row.folded, row.door) == (
        searched_workspace.pk,
        "Apple",
        "apple",
        door,
    )
    assert (row.mode, row.hits, row.lexical_total, row.degraded) == ("lexical", 1, 1, [])
    assert 0 < row.took_ms < 60_000
    assert abs(timezone.now() - row.asked_at) < timedelta(minutes=1)


def texts(workspace):
    return sorted(AskedQuery.objects.in_workspace(workspace).values_list("text", flat=True))


def test_a_search_sends_as_many_statements_as_without_a_log(searched_workspace, log, settings):
    client = token_client(searched_workspace, "search")
    address = f"/api/v1/workspaces/{searched_workspace.slug}/search?q=apple&mode=lexical"
    client.get(address)  # looks up what is looked up once
    counts = []
    for every_s in (0, 3_600):
        settings.KEBAB_QUERY_LOG_EVERY_S = every_s
        with CaptureQueriesContext(connection) as sent:
            client.get(address)
        counts.append(len(sent))

    assert counts[0] == counts[1] > 0
    assert len(log.pending) == 2


def test_next_page_is_not_logged_as_another_query(workspace, log):
    write_each(workspace, ["apple"] * 3)
    workspace.refresh_from_db()
    sync(workspace)
    client, address = token_client(workspace, "search"), f"/api/v1/workspaces/{workspace.slug}/search"
    first = client.get(address, {"q": "apple", "mode": "lexical", "k": 1}).json()
    second = client.get(address, {"cursor": first["next_cursor"]}).json()

    assert len(second["hits"]) == 1
    assert len(log.pending) == 1


def test_refused_queries_and_evaluation_queries_are_not_logged(searched_workspace, log):
    address = f"/api/v1/workspaces/{searched_workspace.slug}/search?q=apple&mode=magic"
    assert token_client(searched_workspace, "search").get(address).status_code == 400
    asking = TopicRunner.begin(
        searched_workspace, RunSettings.of({"mode": "lexical"}), reader=OPERATOR, measures=["nDCG@10"]
    )
    asking.run_topic(JudgedTopic(topic_id="1", text="apple"))
    store_settings(searched_workspace, {"queries_kept_days": 0})  # a workspace that keeps none
    by_api(searched_workspace)

    assert log.pending == ()


def test_a_long_query_is_cut(searched_workspace, log):
    client = token_client(searched_workspace, "search")
    client.get(f"/api/v1/workspaces/{searched_workspace.slug}/search", {"q": "ΐ" * 900, "mode": "lexical"})
    log.flush()

    row = AskedQuery.objects.get()
    assert (row.text, len(row.folded)) == ("ΐ" * 500, 500)


def test_only_the_last_keystroke_is_logged(workspace):
    typed = [note_query(workspace, "appl"[: n + 1], after_s=n * 2.5) for n in range(4)]
    store_queries(workspace.pk, typed)
    assert texts(workspace) == ["appl"]
    query = note_query(workspace, "apple", after_s=9)
    for _ in range(2):  # another process has the last one, and writes it later, twice
        store_queries(workspace.pk, [query])

    assert texts(workspace) == ["apple"]
    other = make_workspace()
    store_queries(other.pk, [note_query(other, "apple pie", after_s=10)])
    assert (texts(workspace), texts(other)) == (["apple"], ["apple pie"])


def test_separate_queries_are_logged_separately(workspace):
    apart = {"caller": "user:2"}, {"door": Door.API}
    for later in ({"after_s": 3.5}, *({"after_s": 1} | other for other in apart)):
        AskedQuery.objects.all().delete()
        store_queries(workspace.pk, [note_query(workspace, "pear"), note_query(workspace, "apple", **later)])
        assert texts(workspace) == ["apple", "pear"], later
    for later in ({"after_s": 61}, *({"after_s": 9} | other for other in apart)):
        AskedQuery.objects.all().delete()
        store_queries(workspace.pk, [note_query(workspace, "apple"), note_query(workspace, "apple", **later)])
        assert texts(workspace) == ["apple", "apple"], later


def test_repeated_display_is_logged_once(workspace):
    store_queries(
        workspace.pk,
        [note_query(workspace, "apple", after_s=-20), note_query(workspace, "pear", after_s=-10)],
    )
    # Back, and then by another mode.
    again = [
        note_query(workspace, "Apple ", after_s=0),
        note_query(workspace, "apple", after_s=9, mode=Mode.LEXICAL),
    ]
    store_queries(workspace.pk, again)

    assert texts(workspace) == ["apple", "pear"]
    assert AskedQuery.objects.get(text="apple").mode == "hybrid"


def test_queries_cannot_be_traced_to_people(workspace):
    store_queries(workspace.pk, [note_query(workspace, "apple", after_s=29)])
    typist = AskedQuery.objects.get().typist
    assert typist and typist != "1" and "user" not in typist
    AskedQuery.objects.update(asked_at=timezone.now() - timedelta(minutes=2))
    prune_queries()

    assert AskedQuery.objects.get().typist == ""


def test_queries_of_a_workspace_that_has_gone_are_dropped(workspace):
    log = QueryLog(store_queries, every_s=3_600)
    log.add(note_query(uuid.uuid4(), "apple"))
    log.add(note_query(workspace, "pear"))
    log.flush()

    assert log.pending == ()
    assert texts(workspace) == ["pear"]


def test_queries_are_written_from_any_thread_without_unstorable_characters(workspace):
    with acting_nowhere():
        store_queries(workspace.pk, [note_query(workspace, "a\x00b\ud800")])
        assert not AskedQuery.objects.exists()
    with acting_everywhere():
        assert texts(workspace) == ["ab"]


class TestWithoutADatabase:
    def test_queries_wait_in_order_while_the_database_refuses_them(self):
        is_away, kept = True, []

        def keep(workspace_id, queries):
            if is_away:
                raise OperationalError("connection refused")
            kept.extend(query.text for query in queries)

        log, one, two = QueryLog(keep, every_s=3_600), uuid.uuid4(), uuid.uuid4()
        for text, workspace_id in (("a", one), ("b", two), ("c", one)):
            log.add(note_query(workspace_id, text))
        log.flush()
        assert sorted(query.text for query in log.pending) == ["a", "b", "c"]
        is_away = False
        log.flush()

        assert sorted(kept) == ["a", "b", "c"]
        assert kept.index("a") < kept.index("c")
        assert log.pending == ()

    def test_oldest_query_is_dropped_when_the_buffer_is_full(self):
        def keep(workspace_id, queries):
            log.add(note_query(workspace_id, "d"))  # somebody asks meanwhile
            raise OperationalError("connection refused")

        log, workspace_id = QueryLog(keep, every_s=3_600, max_pending=3), uuid.uuid4()
        for text in "abc":
            log.add(note_query(workspace_id, text))
        log.add(note_query(workspace_id, "c2"))
        assert [query.text for query in log.pending] == ["b", "c", "c2"]
        log.flush()

        assert [query.text for query in log.pending] == ["c", "c2", "d"]

    def test_failed_batch_is_dropped_without_logging_its_queries(self, caplog):
        def keep(workspace_id, queries):
            raise ValueError(queries[0].text)

        log = QueryLog(keep, every_s=3_600)
        log.add(note_query(uuid.uuid4(), "secret plan"))
        with caplog.at_level(logging.DEBUG):
            log.flush()

        assert log.pending == ()
        assert "1 queries were not written: ValueError" in caplog.text
        assert "secret" not in caplog.text

    def test_query_log_is_written_periodically_and_when_closed(self):
        kept, both = [], Event()

        def keep(workspace_id, queries):
            kept.extend(query.text for query in queries)
            if len(kept) == 1:
                log.add(note_query(workspace_id, "b"))
            else:
                both.set()

        log = QueryLog(keep, every_s=0.01)
        log.add(note_query(uuid.uuid4(), "a"))
        assert both.wait(20)
        assert kept == ["a", "b"]
        log.close()
        log = QueryLog(keep, every_s=3_600)
        log.add(note_query(uuid.uuid4(), "c"))
        log.close()

        assert kept == ["a", "b", "c"]


def test_queries_are_deleted_after_as_many_days_as_the_workspace_keeps_them(workspace):
    for text, days_ago in (("day", 1), ("month", 40), ("year", 400)):
        make_query(workspace, text, days_ago=days_ago)
    for days, left in ((90, ["day", "month"]), (30, ["day"]), (0, [])):
        store_settings(workspace, {"queries_kept_days": days})
        prune_queries()
        assert texts(workspace) == left
