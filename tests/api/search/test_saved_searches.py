"""`/workspaces/{ws}/saved-searches` over HTTP, and the feeds."""

from xml.etree import ElementTree

import pytest

from kebab.identity.models import Group, Role
from kebab.identity.tokens import mint_personal_token
from kebab.people.members import remove_member
from search.access.restrictions import restrict
from search.models import SavedSearch, Source
from tests.support.actors import bearer_client, make_member, make_workspace, member_client, person_client
from tests.support.corpus import write
from tests.support.search import sync
from tests.support.webhooks import operator_access

pytestmark = pytest.mark.django_db(transaction=True)

ATOM = {"a": "http://www.w3.org/2005/Atom"}
NEW = {"q": "crane", "mode": "lexical", "filters": {"lang": ["en"], "path_glob": ["*.md"]}}


def address(workspace, *parts):
    return "/".join((f"/api/v1/workspaces/{workspace.slug}/saved-searches", *map(str, parts)))


def path_of(url):
    return url.removeprefix("http://testserver")


def entries(answer):
    assert answer.status_code == 200, answer.content
    feed = ElementTree.fromstring(answer.content)  # noqa: S314  # our own answer
    found = feed.findall("a:entry", ATOM)
    return [entry.find("a:title", ATOM).text for entry in found]


@pytest.fixture
def ann(workspace):
    return make_member(workspace)


def test_search_is_saved_listed_changed_and_deleted_by_its_owner_alone(workspace, ann):
    mine = person_client(ann)
    made = mine.post(address(workspace), NEW | {"name": "Cranes"}, format="json")
    assert made.status_code == 201
    saved = made.json()
    assert saved["filters"] == NEW["filters"]
    assert saved["page"] == f"/w/{workspace.slug}/search?q=crane&mode=lexical&lang=en&path_glob=%2A.md"
    one = address(workspace, saved["id"])
    assert [row["id"] for row in mine.get(address(workspace)).json()["results"]] == [saved["id"]]
    assert (
        mine.patch(one, {"name": "Winches", "notify": "webhook"}, format="json").json()["name"] == "Winches"
    )

    other = member_client(workspace, Role.OWNER)
    assert other.get(address(workspace)).json()["results"] == []
    for answer in (
        other.get(one),
        other.patch(one, {}, format="json"),
        other.delete(one),
        other.post(f"{one}/feed"),
    ):
        assert answer.status_code == 404
    assert mine.delete(one).status_code == 204
    assert mine.get(one).status_code == 404


def test_personal_token_saves_and_one_of_a_workspace_may_not(workspace, ann, reader):
    _, secret = mint_personal_token(ann, scopes=["search"])
    assert bearer_client(secret).post(address(workspace), NEW, format="json").status_code == 201
    for answer in (reader.get(address(workspace)), reader.post(address(workspace), NEW, format="json")):
        assert answer.status_code == 403


@pytest.mark.parametrize(
    "change",
    [
        {"q": None},
        {"q": ""},
        {"mode": "psychic"},
        {"filters": {"nonsense": ["x"]}},
        {"filters": {"path_glob": ["["]}},
        {"notify": "pigeon"},
        {"k": 5},
    ],
)
def test_wrong_field_is_refused(workspace, ann, change):
    answer = person_client(ann).post(address(workspace), NEW | change, format="json")
    assert answer.status_code == 400, answer.content
    assert not SavedSearch.objects.exists()


def test_mail_needs_a_server_that_sends_it(workspace, ann):
    answer = person_client(ann).post(address(workspace), NEW | {"notify": "mail"}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (422, "no_mail")


def test_feed_lists_matches_newest_first_under_its_owners_rights(workspace, ann, client):
    mine = person_client(ann)
    for year, path in ((2024, "old.md"), (2026, "new.md"), (2025, "closed.md"), (2025, "unfit.txt")):
        source = "closed" if path == "closed.md" else "docs"
        stated = {"date": f"{year}-01-01"}
        write(workspace, path, "all of the crane", source=source, title=path, metadata=stated)
    write(workspace, "other.md", "nothing of it", title="other.md")
    restrict(Source.objects.get(key="closed"), [Group.objects.create(workspace=workspace, name="few").pk])
    sync(workspace)
    saved = mine.post(address(workspace), NEW, format="json").json()
    opened = mine.post(address(workspace, saved["id"], "feed"))
    assert (opened.status_code, opened.headers["Cache-Control"]) == (201, "no-store")
    feed = path_of(opened.json()["feed"])

    reader = bearer_client("none")
    reader.credentials()
    answer = reader.get(feed)
    assert answer.headers["Content-Type"].startswith("application/atom+xml")
    assert entries(answer) == ["new.md", "old.md"]
    assert reader.get(feed, HTTP_IF_NONE_MATCH=answer.headers["ETag"]).status_code == 304
    restrict(Source.objects.get(key="docs"), [Group.objects.get().pk])
    assert entries(reader.get(feed)) == []


def test_feed_of_texts_with_control_characters_is_xml(workspace, ann):
    mine = person_client(ann)
    write(workspace, "build.log", "\x1b[31merror\x1b[0m crane\x0c failed", title="log\x0c")
    sync(workspace)
    asked = {"q": "crane", "mode": "lexical", "name": "log\x1f"}
    saved = mine.post(address(workspace), asked, format="json").json()
    feed = path_of(mine.post(address(workspace, saved["id"], "feed")).json()["feed"])
    answer = mine.get(feed)
    assert entries(answer) == ["log "]
    assert b" [31merror" in answer.content


def test_feed_url_ends_when_replaced_closed_or_its_owner_leaves(workspace, ann):
    mine = person_client(ann)
    one = address(workspace, mine.post(address(workspace), NEW, format="json").json()["id"], "feed")
    first, second, third = (path_of(mine.post(one).json()["feed"]) for _ in range(3))
    assert [mine.get(feed).status_code for feed in (first, second, third)] == [404, 404, 200]
    assert mine.delete(one).json()["has_feed"] is False
    assert mine.get(third).status_code == 404
    fourth = path_of(mine.post(one).json()["feed"])
    type(ann).objects.filter(pk=ann.pk).update(is_active=False)
    assert mine.get(fourth).status_code == 404
    type(ann).objects.filter(pk=ann.pk).update(is_active=True)
    assert mine.get(fourth).status_code == 200
    remove_member(operator_access(workspace, "operator:test"), ann.pk)
    assert mine.get(fourth).status_code == 404


def test_search_that_filters_by_metadata_has_a_feed_but_no_page(workspace, ann):
    mine = person_client(ann)
    body = {"q": "crane", "filters": {"metadata": {"team": "ops"}}}
    saved = mine.post(address(workspace), body, format="json").json()
    assert saved["page"] is None
    write(workspace, "a.md", "the crane", title="a.md", metadata={"team": "ops"})
    write(workspace, "b.md", "the crane", title="b.md", metadata={"team": "sales"})
    sync(workspace)
    feed = path_of(mine.post(address(workspace, saved["id"], "feed")).json()["feed"])
    assert entries(mine.get(feed)) == ["a.md"]


def test_unknown_feeds_are_missing(workspace):
    for secret in ("x", "\x00", "é" * 300):
        assert member_client(make_workspace()).get(f"/feeds/{secret}").status_code == 404
