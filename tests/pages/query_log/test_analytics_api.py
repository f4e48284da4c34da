"""`GET /analytics`: consistent figures, only for callers who read all of the workspace."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from kebab.identity.models import Group, Role
from kebab.people.workspaces import store_settings
from search.query_log import statistics
from tests.pages.query_log.factories import make_query
from tests.support.actors import make_workspace, member_client, token_client
from tests.support.corpus import make_place, restrict
from tests.support.schemas import validate


@pytest.fixture
def workspace(db):
    return make_workspace()


def get(workspace, client=None, **query):
    client = client or member_client(workspace, Role.ADMIN)
    return client.get(f"/api/v1/workspaces/{workspace.slug}/analytics", query)


def figures_of(workspace, **query):
    answer = get(workspace, **query)
    assert answer.status_code == 200, answer.content
    validate("analytics.v1", answer.json())
    return answer.json()


def test_workspace_without_queries_has_empty_figures(workspace):
    found = figures_of(workspace)

    assert (found["days"], found["kept_days"], found["degraded"]) == (30, 90, 0)
    assert found["total"] == {
        "queries": 0,
        "without_hits": 0,
        "share_without_hits": None,
        "p50_ms": None,
        "p95_ms": None,
    }
    assert found["top_queries"] == found["no_hit_queries"] == found["modes"] == found["by_day"] == []


def test_queries_count_whatever_their_case_and_spaces(workspace):
    make_query(workspace, "deploy  guide", days_ago=2)
    last = make_query(workspace, " Deploy Guide")
    make_query(workspace, "backup")
    make_query(workspace, "   ")

    assert [(each["query"], each["count"]) for each in figures_of(workspace)["top_queries"]] == [
        (" Deploy Guide", 2),
        ("backup", 1),
    ]
    top = figures_of(workspace)["top_queries"][0]
    assert datetime.fromisoformat(top["last_asked_at"]) == last.asked_at


def test_queries_without_hits_are_reported(workspace):
    make_query(workspace, "found")
    make_query(workspace, "relaxed", hits=5, lexical_total=0)
    make_query(workspace, "changed", hits=5)
    make_query(workspace, "changed", hits=0, lexical_total=0)
    found = figures_of(workspace)

    assert [(each["query"], each["count"]) for each in found["no_hit_queries"]] == [("changed", 1)]
    assert (found["total"]["without_hits"], found["total"]["share_without_hits"]) == (1, 0.25)
    assert {each["query"]: each["without_hits"] for each in found["top_queries"]} == {
        "changed": 1,
        "relaxed": 0,
        "found": 0,
    }


def test_latency_is_reported_by_mode_and_by_day(workspace):
    for ms in (10, 20, 30):
        make_query(workspace, "a", took_ms=ms)
    make_query(workspace, "b", took_ms=200, mode="lexical", days_ago=2, degraded=["vector"], door="api")
    found = figures_of(workspace)
    today = timezone.now().astimezone(UTC).date()

    assert [(each["mode"], each["queries"], each["p50_ms"], each["p95_ms"]) for each in found["modes"]] == [
        ("hybrid", 3, 20, 29),
        ("lexical", 1, 200, 200),
    ]
    assert [(each["day"], each["queries"], each["p50_ms"]) for each in found["by_day"]] == [
        ((today - timedelta(days=2)).isoformat(), 1, 200),
        ((today - timedelta(days=1)).isoformat(), 0, None),
        (today.isoformat(), 3, 20),
    ]
    assert found["total"]["p50_ms"] == 25
    assert found["degraded"] == 1
    assert found["doors"] == [{"door": "page", "queries": 3}, {"door": "api", "queries": 1}]


def test_days_and_limit_parameters_narrow_the_figures(workspace):
    for text, days_ago in (("today", 0), ("today", 1), ("week", 5), ("month", 20), ("quarter", 60)):
        make_query(workspace, text, days_ago=days_ago)

    assert figures_of(workspace, days=7)["total"]["queries"] == 3
    assert figures_of(workspace)["total"]["queries"] == 4
    assert figures_of(workspace, days=90)["total"]["queries"] == 5
    assert [each["query"] for each in figures_of(workspace, limit=1)["top_queries"]] == ["today"]
    store_settings(workspace, {"queries_kept_days": 7})
    workspace.refresh_from_db()
    assert figures_of(workspace)["kept_days"] == 7


def test_only_the_newest_queries_count_past_the_limit(workspace, monkeypatch):
    monkeypatch.setattr(statistics, "MOST_QUERIES", 2)
    made = [
        make_query(workspace, text, days_ago=days) for text, days in (("a", 3), ("b", 2), ("c", 1), ("d", 0))
    ]
    found = figures_of(workspace)

    assert {each["query"] for each in found["top_queries"]} == {"b", "c", "d"}
    assert datetime.fromisoformat(found["since"]) == made[1].asked_at


def test_wrong_parameters_are_refused(workspace):
    for query in ({"days": 0}, {"days": 366}, {"days": "x"}, {"limit": 0}, {"limit": 101}, {"d": 1}):
        answer = get(workspace, **query)
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["field"] == next(iter(query))


def test_figures_are_for_admins_and_tokens_that_manage_of_the_workspace(workspace):
    other = make_workspace()
    make_query(other, "elsewhere")
    for role, status in ((Role.VIEWER, 403), (Role.EDITOR, 403), (Role.ADMIN, 200)):
        assert get(workspace, member_client(workspace, role)).status_code == status
    assert get(workspace, token_client(workspace, "search", "ask", "ingest")).status_code == 403
    assert get(workspace, token_client(workspace, "manage")).status_code == 200
    assert get(workspace, member_client(other, Role.OWNER)).status_code == 404
    assert get(workspace, token_client(other, "manage")).status_code == 404
    assert figures_of(workspace)["total"]["queries"] == 0


def test_caller_with_hidden_sources_is_refused(workspace):
    make_query(workspace, "the secret plan")
    restrict(
        make_place(workspace, "a.md", source="closed").source,
        Group.objects.create(workspace=workspace, name="board"),
    )
    refused = get(workspace, token_client(workspace, "manage"))

    assert refused.status_code == 403
    assert "secret plan" not in refused.content.decode()
    assert figures_of(workspace)["total"]["queries"] == 1
