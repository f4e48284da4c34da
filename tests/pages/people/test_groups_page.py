"""Groups on pages."""

import re

import pytest

from kebab.identity.models import Group, GroupMember
from kebab.identity.tokens import mint_token
from kebab.people.groups import add_to_group, create_group
from kebab.people.operator import command_line_access
from tests.pages.page_text import markup_of
from tests.pages.search.shelf import make_member
from tests.support.extensions import set_contributions

GROUPS = "/w/handbook/groups"


@pytest.fixture
def legal(workspace):
    return create_group(command_line_access(workspace), "Legal")


@pytest.fixture
def one(legal):
    return f"{GROUPS}/{legal.pk}"


def test_group_is_made_and_renamed_but_not_to_a_taken_empty_or_long_name(at, workspace):
    create_group(command_line_access(workspace), "Board")
    answer = at.post(GROUPS, {"name": " Night   shift "}, follow=True)
    group = Group.objects.exclude(name="Board").get()
    assert group.name == "Night shift"
    assert answer.redirect_chain == [(f"{GROUPS}/{group.pk}", 302)]

    assert at.post(f"{GROUPS}/{group.pk}", {"name": "Law"}).status_code == 302
    assert at.post(f"{GROUPS}/{group.pk}", {"name": "Board"}).status_code == 409
    assert 'value="Board"' in markup_of(at.post(GROUPS, {"name": "Board"}), status=409)
    for name in (" ", "x" * 101):
        answer = at.post(GROUPS, {"name": name})
        assert (answer.status_code, set(answer.context["form"].errors)) == (400, {"name"})
    assert set(Group.objects.values_list("name", flat=True)) == {"Board", "Law"}


def test_groups_are_listed_with_what_is_in_them(at, legal, one, workspace, viewer):
    at.post(f"{GROUPS}/{legal.pk}/members", {"email": "vera@example.org"})
    token, _ = mint_token(workspace, scopes=["search"], name="Wiki bot", groups=[legal])
    page = at.get(GROUPS).content.decode()

    for counted in ("Members", "Tokens"):
        assert f'data-label="{counted}">1</td>' in page.partition("Legal</a>")[2]
    assert f'<a href="/w/handbook/tokens/{token.pk}">Wiki bot</a>' in at.get(one).content.decode()


def test_group_member_is_added_by_address_and_removed(at, viewer, one):
    answer = at.post(f"{one}/members", {"email": "Vera@example.org"}, follow=True)
    assert "vera@example.org" in answer.content.decode()
    assert GroupMember.objects.get().membership.user == viewer
    at.post(f"{one}/members/{viewer.pk}/remove")
    assert not GroupMember.objects.exists()
    for email in ("who@example.org", "x"):
        assert f'value="{email}"' in markup_of(at.post(f"{one}/members", {"email": email}), status=400)


def test_members_are_offered_who_are_not_in_the_group(
    at, legal, one, workspace, other_workspace, owner, viewer
):
    make_member(other_workspace, "stranger@example.org")
    assert {email for email, _ in at.get(one).context["candidates"]} == {owner.email, viewer.email}
    add_to_group(command_line_access(workspace), legal.pk, viewer.pk)
    assert {email for email, _ in at.get(one).context["candidates"]} == {owner.email}


def test_the_members_of_a_group_are_paged_through_after_a_refused_addition_too(
    at, legal, one, workspace, viewer, owner, monkeypatch
):
    for person in (viewer, owner):
        add_to_group(command_line_access(workspace), legal.pk, person.pk)
    monkeypatch.setattr("kebab.pages.page.ROWS", 1)
    refused = at.post(f"{one}/members", {"email": "nobody@example.org"})
    following = at.get(f"{one}/members{refused.context['list'].next_address}", follow=True)

    assert (refused.status_code, following.status_code) == (400, 200)
    listed = [row.user for answer in (refused, following) for row in answer.context["list"].rows]
    assert sorted(listed, key=str) == sorted([viewer, owner], key=str)


def test_group_is_deleted_after_a_question_that_counts_its_sources(at, legal, one, monkeypatch):
    assert re.search(r"<summary>[^<]*Legal</summary>", at.get(one).content.decode())
    set_contributions(monkeypatch, source_counters=(lambda workspace, ids: dict.fromkeys(ids, 217),))
    assert "217" in at.get(one).content.decode()
    at.post(f"{one}/delete")
    assert not Group.objects.exists()


def test_group_of_another_workspace_is_answered_like_a_missing_one(at, other_workspace, viewer):
    foreign = Group.objects.create(workspace=other_workspace, name="Theirs")
    for below in ("", "/delete", "/members", f"/members/{viewer.pk}/remove"):
        strange, missing = (
            at.post(f"{GROUPS}/{group_id}{below}", {"name": "x", "email": "vera@example.org"})
            for group_id in (foreign.pk, "00000000-0000-4000-8000-000000000000")
        )
        assert strange.status_code == missing.status_code == 404
        assert strange.content == missing.content
    assert Group.objects.get().name == "Theirs"
