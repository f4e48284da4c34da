"""The Insight page: figures with their plots, queries that lead to the search, the state of the indexes."""

import html
import re
from datetime import timedelta

import pytest
from django.utils import timezone

from kebab.people.models import Role
from kebab.people.workspaces import store_settings
from search.models import Change
from tests.pages.insight.making import make_query
from tests.support.actors import make_workspace, member_client
from tests.support.corpus import write
from tests.support.searching import embed, sync

HOSTILE = '"><script>alert(1)</script>'


def page(workspace, role=Role.ADMIN, **query):
    return member_client(workspace, role).get(f"/w/{workspace.slug}/insight", query)


def text_of(workspace, **query):
    response = page(workspace, **query)
    assert response.status_code == 200
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode())))


def test_a_workspace_that_was_asked_nothing_says_where_to_ask(workspace):
    found = page(workspace).content.decode()

    assert "Nothing was asked in the last 30 days" in found
    assert f'href="/w/{workspace.slug}/search"' in found
    assert '<svg class="plot"' not in found


def test_figures_plots_and_the_table_beneath_say_the_same(workspace):
    for number in range(3):
        make_query(workspace, "deploy", took_ms=10 + number)
    make_query(workspace, "nothing", hits=0, took_ms=500, days_ago=1)
    found = page(workspace).content.decode()
    text = text_of(workspace)

    assert "Queries 4" in text
    assert "In vain 1 25 %" in text
    assert found.count('<svg class="plot"') == 2
    day = timezone.now()
    assert f"{day:%b} {day.day}: found something 3, in vain 0" in html.unescape(found)
    assert f"{day:%b} {day.day} 3 0" in text
    assert "style=" not in found


def test_queries_lead_to_their_search(workspace):
    make_query(workspace, "a&b <c>")
    make_query(workspace, "nobody knows", hits=0)
    found = page(workspace).content.decode()

    assert f'href="/w/{workspace.slug}/search?q=a%26b+%3Cc%3E">a&amp;b &lt;c&gt;</a>' in found
    assert found.count(f'href="/w/{workspace.slug}/search?q=nobody+knows"') == 2


def test_hostile_queries_are_text(workspace):
    make_query(workspace, HOSTILE, hits=0)

    assert "<script>alert" not in page(workspace).content.decode()


def test_the_days_can_be_chosen(workspace):
    make_query(workspace, "month", days_ago=20)

    assert "Nothing was asked in the last 7 days" in text_of(workspace, days=7)
    assert "Queries 1" in text_of(workspace, days=90)
    assert 'href="?days=7" aria-current="true"' in page(workspace, days=7).content.decode()


@pytest.mark.parametrize("days", ["8", "x", "", "７"])
def test_other_days_are_refused(workspace, days):
    response = page(workspace, days=days)

    assert response.status_code == 400
    assert "choose one of 7, 30, 90" in response.content.decode()


def test_it_says_when_queries_are_not_kept(workspace):
    store_settings(workspace, {"queries_kept_days": 0})

    assert "This workspace keeps no queries" in text_of(workspace)


def test_a_mirror_that_lags_says_how_much_and_how_long(workspace):
    assert "up to date" in text_of(workspace)
    write(workspace, "a.md", "apple")
    assert "not built yet 1 change" in text_of(workspace)
    sync(workspace)
    assert "up to date" in text_of(workspace)
    write(workspace, "b.md", "pear")
    Change.objects.filter(seq=2).update(at=timezone.now() - timedelta(seconds=100))

    assert re.search(r"following 1 change, 10\d s", text_of(workspace))


def test_spaces_say_how_many_chunks_lack_a_vector(workspace):
    write(workspace, "a.md", "apple")
    assert "no vectors yet" in text_of(workspace)
    embed(workspace)
    assert "live, complete" in text_of(workspace)
    write(workspace, "b.md", "pear", "plum", "fig")

    assert "live, 25 % of the chunks 3 of 4 chunks" in text_of(workspace)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.EDITOR])
def test_lesser_roles_see_neither_the_tab_nor_the_page(workspace, role):
    make_query(workspace, "the secret plan")
    refused = page(workspace, role)

    assert refused.status_code == 403
    assert "secret plan" not in refused.content.decode()
    assert f'href="/w/{workspace.slug}/insight"' not in refused.content.decode()


def test_a_strangers_workspace_looks_like_a_missing_one(workspace):
    client = member_client(make_workspace(), Role.OWNER)
    strange, missing = client.get(f"/w/{workspace.slug}/insight"), client.get("/w/missing/insight")

    assert strange.status_code == missing.status_code == 404
    assert strange.content == missing.content
