"""Search over several workspaces: each caller's own, merged by rank."""

import pytest

from kebab.identity.models import Membership, Role
from kebab.identity.tokens import mint_personal_token, mint_token
from tests.api.refusals import refusal_of
from tests.support.actors import bearer_client, make_person, make_workspace, person_client, token_client
from tests.support.corpus import write
from tests.support.search import sync

pytestmark = pytest.mark.django_db(transaction=True)

PATH = "/api/v1/search"


@pytest.fixture
def spaces():
    """Return three workspaces with the same word; the last one only has it beside much else."""
    found = [make_workspace() for _ in range(3)]
    for space in found[:2]:
        for number in range(3):
            write(space, f"{number}.md", f"apple {space.slug} {number}")
        sync(space)
    write(found[2], "far.md", "apple " + "pear " * 50)
    sync(found[2])
    return found


@pytest.fixture
def person(spaces):
    user = make_person()
    for space in spaces[:2]:
        Membership.objects.create(workspace=space, user=user, role=Role.VIEWER)
    return user


@pytest.fixture
def tool(person):
    return bearer_client(mint_personal_token(person, scopes=["search"])[1])


def search(client, **given):
    return client.post(PATH, {"q": "apple", "mode": "lexical", **given}, format="json")


def ranks_of(response):
    assert response.status_code == 200, response.content
    return [(each["workspace"], each["hit"]["rank"]) for each in response.json()["hits"]]


def test_lists_of_the_callers_workspaces_are_merged_by_rank(person, tool, spaces):
    one, two, _ = (space.slug for space in spaces)
    for client in (tool, person_client(person)):
        ranks = ranks_of(search(client))
        assert [rank for _, rank in ranks] == [1, 1, 2, 2, 3, 3]
        assert {slug for slug, _ in ranks} == {one, two}
    answer = search(tool, k=3).json()
    assert len(answer["hits"]) == 3
    assert [row["slug"] for row in answer["workspaces"]] == sorted([one, two])
    assert [row["lexical_total"]["value"] for row in answer["workspaces"]] == [3, 3]


def test_workspaces_and_their_shares_are_chosen(tool, spaces):
    one, two, three = spaces
    assert {slug for slug, _ in ranks_of(search(tool, workspaces=[one.slug]))} == {one.slug}
    assert {slug for slug, _ in ranks_of(search(tool, workspaces=[str(two.pk), two.slug]))} == {two.slug}
    assert [rank for _, rank in ranks_of(search(tool, per_workspace=1))] == [1, 1]
    assert ranks_of(search(tool, filters={"path_glob": ["0.md"]}, k=5)) == ranks_of(
        search(tool, per_workspace=1)
    )
    for hidden in (three.slug, "missing"):
        assert refusal_of(search(tool, workspaces=[hidden]))[:2] == (404, "not_found")


def test_workspace_token_searches_only_its_workspace(spaces):
    assert {slug for slug, _ in ranks_of(search(token_client(spaces[2], "search")))} == {spaces[2].slug}
    assert refusal_of(search(token_client(spaces[2], "ask")))[:2] == (403, "forbidden")
    narrowed = mint_token(spaces[0], scopes=["search"], filters={"path_glob": ["1.md"]})[1]
    assert len(ranks_of(search(bearer_client(narrowed)))) == 1
    assert refusal_of(search(bearer_client(narrowed), filters={"path_glob": ["*"]}))[:2] == (403, "forbidden")


def test_related_hits_of_one_workspace_rank_below_hits_of_others(person, tool, spaces):
    Membership.objects.create(workspace=spaces[2], user=person, role=Role.VIEWER)
    hits = search(tool, q="apple 0 numismatic follis").json()["hits"]
    related = [each["hit"]["related"] for each in hits]
    assert related == sorted(related)


def test_options_of_a_single_workspace_are_refused_across_workspaces(tool, subtests):
    for given in (
        {"cursor": "x"},
        {"explain": True},
        {"min_seq": 1},
        {"facets": ["lang"]},
        {"fields": ["rank"]},
    ):
        with subtests.test(given=given):
            assert refusal_of(search(tool, **given))[:2] == (400, "unknown_field")
    assert refusal_of(search(tool, q="'((", mode="lexical", workspaces=[]))[0] == 400
    assert refusal_of(search(tool, q=None))[:2] == (400, "invalid_request")
    assert refusal_of(search(tool, mode="fuzzy"))[:2] == (400, "invalid_query")


def test_person_without_a_workspace_finds_nothing():
    assert search(person_client(make_person())).json()["hits"] == []
