"""The Insight page: figures with plots, queries with links, state of the indexes."""

import html
import re
from datetime import timedelta
from urllib.parse import parse_qsl

from django.utils import timezone

from kebab.identity.models import Role
from kebab.people.workspaces import store_settings
from search.models import Change, QueryReview
from search.query_log.storage import prune_queries
from tests.pages.page_text import text_of
from tests.pages.query_log.factories import make_query
from tests.support.actors import make_member, member_client, person_client
from tests.support.corpus import write
from tests.support.search import embed, sync

HOSTILE = '"><script>alert(1)</script>'


def page(workspace, role=Role.ADMIN, **query):
    return member_client(workspace, role).get(f"/w/{workspace.slug}/insight", query)


def test_insight_page_without_queries_links_to_the_search(workspace):
    store_settings(workspace, {"queries_kept_days": 0})
    found = page(workspace).content.decode()

    assert f'href="/w/{workspace.slug}/search"' in found
    assert '<svg class="plot"' not in found


def test_figures_plots_and_table_agree(workspace):
    for number in range(3):
        make_query(workspace, "deploy", took_ms=10 + number)
    make_query(workspace, HOSTILE, hits=0, took_ms=500, days_ago=1)
    found = page(workspace).content.decode()
    text = text_of(page(workspace))

    assert re.search(r"\b4 .*\b1 25 %", text)
    assert found.count('<svg class="plot"') == 2
    day = timezone.now()
    assert re.search(rf"{day.day} {day:%b}: [^,<]* 3, [^,<]* 0<", html.unescape(found))
    assert f"{day.day} {day:%b} 3 0" in text
    assert re.findall(r'rect class="(good|bad)"', found) == ["bad", "good"]  # of yesterday, of today
    assert "style=" not in found
    assert "<script>alert" not in found


def test_queries_lead_to_their_search(workspace):
    make_query(workspace, "a&b <c>")
    make_query(workspace, "nobody knows", hits=0)
    found = page(workspace).content.decode()

    assert f'href="/w/{workspace.slug}/search?q=a%26b%20%3Cc%3E">a&amp;b &lt;c&gt;</a>' in found
    assert found.count(f'href="/w/{workspace.slug}/search?q=nobody%20knows"') == 2
    assert f'href="/w/{workspace.slug}/upload"' in found


def test_a_bar_leads_to_the_queries_of_its_day(workspace):
    make_query(workspace, "of yesterday", days_ago=1)
    assert '<svg class="plot"' in page(workspace).content.decode()
    make_query(workspace, "of today")
    yesterday = timezone.now() - timedelta(days=1)
    address = re.search(rf'href="\?([^"]*day={yesterday:%Y-%m-%d})"', page(workspace).content.decode())[1]
    text = text_of(page(workspace, **dict(parse_qsl(html.unescape(address)))))

    assert "of yesterday" in text
    assert "of today" not in text
    for day in ("x", "", "9999-12-31", f"{yesterday - timedelta(days=9):%Y-%m-%d}"):
        assert page(workspace, day=day).status_code == 400, day


def test_queries_of_one_day_have_figures_without_a_plot(workspace):
    make_query(workspace, "first")
    found = page(workspace).content.decode()

    assert "first</a>" in found
    assert '<svg class="plot"' not in found


def test_days_can_be_chosen(workspace):
    make_query(workspace, "month", days_ago=20)

    assert '<svg class="plot"' not in page(workspace, days=7).content.decode()
    assert '<svg class="plot"' in page(workspace, days=90).content.decode()
    assert 'href="?days=7" aria-current="true"' in page(workspace, days=7).content.decode()
    for days in ("8", "x", "", "７"):
        assert page(workspace, days=days).status_code == 400, days


def test_state_of_the_mirror_and_of_the_spaces_is_shown(workspace):
    write(workspace, "a.md", "apple")
    assert " 1 change" in text_of(page(workspace))
    sync(workspace)
    assert " 1 change" not in text_of(page(workspace))
    embed(workspace)
    write(workspace, "b.md", "pear", "plum", "fig")
    Change.objects.filter(seq=2).update(at=timezone.now() - timedelta(seconds=100))
    text = text_of(page(workspace))

    assert re.search(r" 1 change, 10\d s", text)
    assert "25 %" in text and "3 of 4" in text


def test_a_search_without_results_has_a_state_and_an_owner_until_it_expires(workspace):
    make_query(workspace, "Vacation  days", hits=0)
    user = make_member(workspace, Role.ADMIN)
    client = person_client(user)

    def review(**form):
        return client.post(f"/w/{workspace.slug}/insight/review", form).status_code

    def stored():
        found = client.get(f"/api/v1/workspaces/{workspace.slug}/analytics").json()["no_hit_queries"]
        return [(each["state"], each["owner"]) for each in found]

    assert stored() == [("open", "")]
    assert review(query="Vacation  days", state="in_work") == 302
    assert stored() == [("in_work", user.email)]
    assert user.email in text_of(client.get(f"/w/{workspace.slug}/insight"))
    review(query="vacation days", state="open")
    assert stored() == [("open", "")]
    over_api = {"query": "vacation  days", "state": "ignored"}
    reviews = f"/api/v1/workspaces/{workspace.slug}/analytics/reviews"
    assert client.post(reviews, over_api, format="json").status_code == 204
    assert stored() == [("ignored", user.email)]
    assert review(query="vacation days", state="gone") == review(query=" ", state="done") == 400

    old = timezone.now() - timedelta(days=91)
    QueryReview.objects.in_workspace(workspace).update(changed_at=old)
    prune_queries()
    assert not QueryReview.objects.in_workspace(workspace).exists()
