"""The page of a workspace's embedding model."""

import pytest

from ingest.models import Job
from search.embedders.spec import ENGLISH
from search.errors import GateOutOfTime, GoldenQueriesWorse
from search.models import SpaceState
from tests.integration.search.embedders.conftest import FIRST, SECOND
from tests.integration.search.embedders.local_models import write_in
from tests.pages.search.shelf import make_member
from tests.support.actors import Role
from tests.support.corpus import write
from tests.support.jobs import embed, work


@pytest.fixture
def page(client, workspace):
    write(workspace, "a.md", "one", "two")
    embed(workspace)
    client.force_login(make_member(workspace, "ann@example.org", Role.ADMIN))
    return f"/w/{workspace.slug}/settings/embedding"


def states(response):
    return [(each.embedder, each.state) for each in response.context["spaces"]]


def test_model_is_built_switched_to_and_gone_back_from(client, page):
    client.post(page, {"act": "build", "embedder": SECOND})
    assert states(client.get(page)) == [(FIRST, SpaceState.LIVE), (SECOND, SpaceState.BUILDING)]
    for job in Job.objects.filter(state="queued"):
        work(job)
    assert states(client.get(page)) == [(SECOND, SpaceState.LIVE), (FIRST, SpaceState.RETIRED)]
    client.post(page, {"act": "roll_back"})
    assert states(client.get(page)) == [(FIRST, SpaceState.LIVE), (SECOND, SpaceState.RETIRED)]


def test_page_shows_the_languages_that_chose_the_model(client, english_team):
    client.force_login(make_member(english_team, "ann@example.org", Role.ADMIN))
    page = f"/w/{english_team.slug}/settings/embedding"
    write_in(english_team, "de", 5)
    response = client.get(page)
    assert (response.context["english_percent"], "80 %" in response.content.decode()) == (80.0, True)
    client.post(page, {"act": "build", "embedder": ENGLISH})
    assert client.get(page).context["english_percent"] is None


def test_space_in_preparation_is_deleted(client, page):
    client.post(page, {"act": "build", "embedder": SECOND})
    building = client.get(page).context["status"].building
    client.post(page, {"act": "delete", "space": building.id})
    assert client.get(page).context["status"].building is None


@pytest.mark.parametrize("error", [GoldenQueriesWorse("worse", sentence=""), GateOutOfTime("slow")])
def test_switch_that_the_quality_gate_holds_up_can_be_forced(client, page, monkeypatch, error):
    def refuse(access, *, force):
        if not force:
            raise error

    monkeypatch.setattr("ingest.pages.embedding.switch_space", refuse)
    client.post(page, {"act": "build", "embedder": SECOND})
    assert 'name="force"' not in client.get(page).content.decode()
    assert 'name="force"' in client.post(page, {"act": "switch"}).content.decode()
    assert client.post(page, {"act": "switch", "force": "1"}).status_code == 302


@pytest.mark.parametrize(
    ("posted", "status"),
    [
        ({"act": "switch"}, 409),
        ({"act": "roll_back"}, 409),
        ({"act": "build", "embedder": "unheard-of"}, 422),
        ({"act": "delete", "space": "x"}, 400),
        ({"act": "delete", "space": "99999999"}, 404),
        ({"act": "paint"}, 400),
    ],
)
def test_act_that_can_not_be_done_is_refused_with_the_reason(client, page, posted, status):
    refused = client.post(page, posted)
    assert refused.status_code == status
    assert status == 404 or refused.context["problem"].detail
