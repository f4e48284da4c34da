"""Groups on pages."""

import pytest

from kebab.people.groups import add_to_group, create_group
from kebab.people.models import Group, GroupMember, TokenGroup
from kebab.people.operator import the_operator
from kebab.people.tokens import mint_token

GROUPS = "/w/handbook/groups"


@pytest.fixture
def legal(workspace):
    return create_group(the_operator(workspace), "Legal")


@pytest.fixture
def one(legal):
    return f"{GROUPS}/{legal.pk}"


def test_a_group_is_made_and_opened(at, text_of):
    answer = at.post(GROUPS, {"name": " Night   shift "}, follow=True)
    group = Group.objects.get()

    assert group.name == "Night shift"
    assert answer.redirect_chain == [(f"{GROUPS}/{group.pk}", 302)]
    assert "The group Night shift is made." in text_of(answer)


def test_a_taken_or_empty_name_is_said_beside_the_form(at, legal, text_of):
    taken = at.post(GROUPS, {"name": "Legal"})
    blank = at.post(GROUPS, {"name": " "})
    long = at.post(GROUPS, {"name": "x" * 101})

    assert (taken.status_code, blank.status_code, long.status_code) == (409, 400, 400)
    assert "There is a group &#x27;Legal&#x27; already; choose another name." in text_of(taken)
    assert 'value="Legal"' in taken.content.decode()
    assert "This field is required." in text_of(blank)
    assert Group.objects.count() == 1


def test_groups_are_listed_with_what_is_in_them(at, legal, workspace, viewer):
    at.post(f"{GROUPS}/{legal.pk}/members", {"email": "vera@example.org"})
    mint_token(workspace, scopes=["search"], groups=[legal])
    page = at.get(GROUPS).content.decode()

    for counted in ("Members", "Tokens"):
        assert f'data-label="{counted}">1</td>' in page.partition("Legal</a>")[2]
    assert "There is no group yet." not in page


def test_a_group_is_renamed(at, legal, one, text_of):
    create_group(the_operator(legal.workspace), "Board")
    assert "The group is called Law now." in text_of(at.post(one, {"name": "Law"}, follow=True))
    refused = at.post(one, {"name": "Board"})

    assert refused.status_code == 409
    assert Group.objects.get(pk=legal.pk).name == "Law"


def test_a_member_is_put_in_by_address_and_taken_out(at, viewer, one, text_of):
    answer = at.post(f"{one}/members", {"email": "Vera@example.org"}, follow=True)
    assert "vera@example.org is in the group." in text_of(answer)
    assert GroupMember.objects.get().membership.user == viewer
    answer = at.post(f"{one}/members/{viewer.pk}/remove", follow=True)

    assert not GroupMember.objects.exists()
    assert "Nobody is in it yet." in text_of(answer)


def test_who_is_no_member_cannot_be_put_in_and_what_to_do_is_said(at, one, text_of):
    answer = at.post(f"{one}/members", {"email": "who@example.org"})

    assert answer.status_code == 400
    assert "No member has this address; invite them first." in text_of(answer)
    assert 'value="who@example.org"' in answer.content.decode()
    assert at.post(f"{one}/members", {"email": "x"}).status_code == 400


def test_a_group_shows_the_tokens_in_it(at, legal, one, workspace):
    token, _ = mint_token(workspace, scopes=["search"], name="Wiki bot", groups=[legal])

    assert f'<a href="/w/handbook/tokens/{token.pk}">Wiki bot</a>' in at.get(one).content.decode()


def test_the_members_of_a_group_are_paged_through_after_a_refused_addition_too(
    at, legal, one, workspace, viewer, owner, monkeypatch
):
    for person in (viewer, owner):
        add_to_group(the_operator(workspace), legal.pk, person.pk)
    monkeypatch.setattr("kebab.pages.lists.ROWS", 1)
    refused = at.post(f"{one}/members", {"email": "nobody@example.org"})
    following = at.get(f"{one}/members{refused.context['list'].next_address}", follow=True)

    assert (refused.status_code, following.status_code) == (400, 200)
    listed = [row.user for answer in (refused, following) for row in answer.context["list"].rows]
    assert sorted(listed, key=str) == sorted([viewer, owner], key=str)


def test_a_group_is_deleted_and_asked_about_before(at, legal, one, text_of):
    assert "<summary>Delete Legal</summary>" in at.get(one).content.decode()
    answer = at.post(f"{one}/delete", follow=True)

    assert not Group.objects.exists()
    assert "The group Legal is deleted." in text_of(answer)


def test_sources_of_a_deleted_group_are_said_to_stay_restricted(at, one, text_of, monkeypatch):
    counted = [lambda workspace, ids: dict.fromkeys(ids, 2)]
    monkeypatch.setattr("kebab.people.groups._counters", counted)

    assert "2 sources are restricted to it" in text_of(at.get(one))
    assert "stays restricted" in text_of(at.post(f"{one}/delete", follow=True))


def test_another_workspaces_group_is_like_none(at, other_workspace, viewer):
    foreign = Group.objects.create(workspace=other_workspace, name="Theirs")
    for below in ("", "/delete", "/members", f"/members/{viewer.pk}/remove"):
        strange, missing = (
            at.post(f"{GROUPS}/{group_id}{below}", {"name": "x", "email": "vera@example.org"})
            for group_id in (foreign.pk, "00000000-0000-4000-8000-000000000000")
        )
        assert strange.status_code == missing.status_code == 404
        assert strange.content == missing.content
    assert Group.objects.get().name == "Theirs"


def test_viewers_see_and_do_nothing_of_it(as_person, viewer, legal, one):
    visitor = as_person(viewer)

    assert visitor.get(GROUPS).status_code == visitor.get(one).status_code == 403
    for address in (GROUPS, one, f"{one}/delete", f"{one}/members", f"{one}/members/{viewer.pk}/remove"):
        assert visitor.post(address, {"name": "x", "email": "vera@example.org"}).status_code == 403
    assert Group.objects.get().name == "Legal"
    assert not TokenGroup.objects.exists()
