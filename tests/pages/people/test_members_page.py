"""The members page: members, roles, invitations and removal."""

import re
import uuid

import pytest
from django.core import mail

from kebab.identity.models import Group, GroupMember, Invitation, Membership, Role
from kebab.people.groups import add_to_group, create_group
from kebab.people.operator import command_line_access
from tests.pages.page_text import markup_of
from tests.pages.search.shelf import make_member

PEOPLE = "/w/handbook/people"
MANY_GROUPS = [str(uuid.UUID(int=number)) for number in range(101)]
REAL_MAIL = "tests.pages.people.mail_backend.DeliveringBackend"


def role_of(person, workspace):
    return Membership.objects.get(user=person, workspace=workspace).role


@pytest.fixture
def legal(workspace):
    return create_group(command_line_access(workspace), "Legal")


def test_members_are_listed_with_role_groups_and_since_when(at, viewer, workspace, legal):
    membership = Membership.objects.get(user=viewer)
    GroupMember.objects.create(workspace=workspace, group=legal, membership=membership)
    Membership.objects.filter(pk=membership.pk).update(created_at="2024-03-02T10:00:00Z")
    answer = at.get(PEOPLE)
    row = answer.content.decode().partition("vera@example.org")[2].partition("</tr>")[0]

    assert '<option value="viewer" selected>' in row
    assert '<span class="tag">Legal</span>' in row
    assert "2 Mar 2024" in row
    assert "no-store" in answer["Cache-Control"]


def test_the_tab_is_shown_to_those_who_may_open_it(at, as_person, viewer, admin):
    tab = '<a href="/w/handbook/people"'

    assert tab in at.get(PEOPLE).content.decode()
    assert tab in as_person(admin).get(PEOPLE).content.decode()
    refused = as_person(viewer).get(PEOPLE)
    assert refused.status_code == 403
    assert tab not in refused.content.decode()
    assert "adam@example.org" not in refused.content.decode()


def test_person_with_too_low_a_role_is_told_which_one_and_whom_to_ask(as_person, owner, viewer):
    type(owner).objects.filter(pk=owner.pk).update(display_name="Olga O.")
    for refused in (as_person(viewer).get(PEOPLE), as_person(viewer).post(PEOPLE, {})):
        assert refused.status_code == 403
        assert (refused.context["missing_role"], refused.context["owners"]) == (Role.ADMIN, ["Olga O."])


def test_members_are_listed_page_by_page(at, workspace, monkeypatch):
    monkeypatch.setattr("kebab.pages.page.ROWS", 2)
    for number in range(4):
        make_member(workspace, f"m{number}@example.org")
    seen, address = [], ""
    while address is not None:
        page = at.get(PEOPLE + address)
        seen += [member["membership"].user.email for member in page.context["members"]]
        address = page.context["list"].next_address

    assert seen == ["olga@example.org", *(f"m{number}@example.org" for number in range(4))]


def test_role_cannot_be_changed_above_ones_own(at, as_person, admin, owner, viewer, workspace):
    answer = at.post(f"{PEOPLE}/{viewer.pk}", {"role": "editor"}, follow=True)
    assert answer.redirect_chain
    assert role_of(viewer, workspace) == Role.EDITOR

    above = as_person(admin).post(f"{PEOPLE}/{viewer.pk}", {"role": "owner"})
    assert above.status_code == 400
    assert role_of(viewer, workspace) == Role.EDITOR
    an_owner = as_person(admin).post(f"{PEOPLE}/{owner.pk}", {"role": "viewer"})
    assert an_owner.status_code == 403
    assert 'name="role"' in an_owner.content.decode()
    assert role_of(owner, workspace) == Role.OWNER


def test_last_owner_can_neither_step_down_nor_leave(at, owner, workspace):
    for below, form in (("", {"role": "viewer"}), ("/remove", {})):
        assert at.post(f"{PEOPLE}/{owner.pk}{below}", form).status_code == 409
    assert role_of(owner, workspace) == Role.OWNER

    make_member(workspace, "second@example.org", Role.OWNER)
    assert at.post(f"{PEOPLE}/{owner.pk}", {"role": "viewer"})["Location"] == "/"
    assert role_of(owner, workspace) == Role.VIEWER


def test_member_is_removed_after_a_question_or_leaves(at, as_person, viewer, admin, workspace):
    leaving = make_member(workspace, "leo@example.org")
    assert as_person(leaving).post(f"{PEOPLE}/{admin.pk}/remove").status_code == 403
    assert as_person(leaving).post(f"{PEOPLE}/{leaving.pk}/remove")["Location"] == "/"
    page = at.get(f"{PEOPLE}/{viewer.pk}").content.decode()
    assert re.search(r"<summary>[^<]*vera@example\.org</summary>", page)
    at.post(f"{PEOPLE}/{viewer.pk}/remove")

    assert not Membership.objects.filter(user__in=[viewer, leaving]).exists()
    assert Membership.objects.filter(user=admin).exists()


def test_member_is_put_into_groups_of_this_workspace_and_taken_out(
    at, viewer, workspace, other_workspace, legal
):
    board = create_group(command_line_access(workspace), "Board")
    address = f"{PEOPLE}/{viewer.pk}/groups"

    def groups():
        return set(GroupMember.objects.filter(membership__user=viewer).values_list("group", flat=True))

    for field in ("groups", "offered"):
        assert "x is not" in at.post(address, {field: ["x"]}, follow=True).content.decode()
    foreign = Group.objects.create(workspace=other_workspace, name="Theirs")
    assert at.post(address, {"groups": [str(foreign.pk)]}).status_code == 404
    assert groups() == set()
    offered = [str(legal.pk), str(board.pk)]
    for chosen in ([legal.pk, board.pk], [board.pk], []):
        at.post(address, {"groups": [str(pk) for pk in chosen], "offered": offered})
        assert groups() == set(chosen)


def test_group_missing_from_the_form_is_kept(at, viewer, workspace, legal):
    address = f"{PEOPLE}/{viewer.pk}"
    form = at.get(address).context["groups_form"]
    assert f'<input type="hidden" name="offered" value="{legal.pk}"' in at.get(address).content.decode()
    board = create_group(command_line_access(workspace), "Board")
    add_to_group(command_line_access(workspace), board.pk, viewer.pk)  # since the form was shown
    at.post(f"{address}/groups", {"groups": [str(legal.pk)], "offered": form["offered"].value()})

    assert GroupMember.objects.filter(membership__user=viewer).count() == 2


def test_member_and_invitation_of_another_workspace_are_answered_like_missing_ones(
    at, other_workspace, workspace
):
    stranger = make_member(other_workspace, "stranger@example.org", Role.OWNER)
    for below in ("", "/groups", "/remove"):
        strange = at.post(f"{PEOPLE}/{stranger.pk}{below}", {"role": "viewer"})
        missing = at.post(f"{PEOPLE}/99999999{below}", {"role": "viewer"})
        assert (strange.status_code, strange.content) == (404, missing.content), below
    invitation = Invitation.objects.create(
        workspace=other_workspace,
        email="new@example.org",
        secret_sha256=b"x" * 32,
        invited_by=stranger.email,
        expires_at="2100-01-01T00:00:00Z",
    )
    for act in ("withdraw", "again"):
        assert at.post(f"{PEOPLE}/invitations/{invitation.pk}/{act}").status_code == 404
    assert Invitation.objects.get().withdrawn_at is None


def test_somebody_is_invited_by_mail_with_role_and_groups(at, legal, workspace, settings):
    settings.EMAIL_BACKEND = REAL_MAIL
    form = {"email": "New@example.org", "role": "editor", "groups": [str(legal.pk)]}
    answer = at.post(PEOPLE, form, follow=True)
    invitation = Invitation.objects.get()
    made = (invitation.email, invitation.role, invitation.group_ids)

    assert made == ("new@example.org", "editor", [legal.pk])
    assert "/invitations/" not in answer.content.decode().replace(f"/invitations/{invitation.pk}/", "")


def test_owner_without_operator_rights_never_sees_the_link(at):
    answer = at.post(PEOPLE, {"email": "new@example.org", "role": "viewer"}, follow=True)
    secret = mail.outbox[-1].body.partition("/invitations/")[2].split()[0]

    assert secret not in answer.content.decode()


def test_an_operator_sees_the_link_once_in_the_answer_alone(as_person, operator_owner, client):
    at = as_person(operator_owner)
    answer = at.post(PEOPLE, {"email": "new@example.org", "role": "viewer"})
    secret = mail.outbox[-1].body.partition("/invitations/")[2].split()[0]

    assert answer.status_code == 200
    assert f'value="http://testserver/invitations/{secret}"' in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    assert secret not in at.get(PEOPLE).content.decode()
    assert secret not in "".join(str(cookie) for cookie in answer.cookies.values())
    assert secret not in str(dict(at.session))
    assert client.get(f"/invitations/{secret}", follow=True).status_code == 200


def test_invalid_invitation_is_refused_keeping_input(at, viewer, settings, subtests):
    for fields, status in (
        ({"email": "no address"}, 400),
        ({"email": "vera@example.org"}, 409),
        ({"role": "king"}, 400),
        ({"groups": MANY_GROUPS}, 400),
        ({"groups": ["x"]}, 400),
    ):
        with subtests.test(fields=str(fields)[:40]):
            typed = {"email": "new@example.org", "role": "editor", **fields}
            answer = at.post(PEOPLE, typed)

            page = markup_of(answer, status=status)
            assert f'value="{typed["email"]}"' in page
            # The form is open again, and nothing scrolls the message out of sight.
            assert '<details class="asked primary" open>' in page
            assert f'action="{PEOPLE}"' in page
            assert status == 409 or set(fields) <= set(answer.context["form"].errors)
            assert not Invitation.objects.exists()
    settings.KEBAB_INVITATION_LIMITS = settings.KEBAB_INVITATION_LIMITS | {"inviter": "1/hour"}
    at.post(PEOPLE, {"email": "one@example.org", "role": "viewer"})
    answer = at.post(PEOPLE, {"email": "two@example.org", "role": "viewer"})
    assert 'value="two@example.org"' in markup_of(answer, status=429)


def test_invitation_is_sent_again_with_a_new_link_and_the_groups_that_are_left_and_withdrawn(
    at, workspace, legal
):
    gone = create_group(command_line_access(workspace), "Gone")
    at.post(PEOPLE, {"email": "new@example.org", "role": "editor", "groups": [str(legal.pk), str(gone.pk)]})
    first = Invitation.objects.get()
    gone.delete()
    at.post(f"{PEOPLE}/invitations/{first.pk}/again")
    again = Invitation.objects.exclude(pk=first.pk).get()

    assert (again.email, again.role, again.group_ids) == ("new@example.org", "editor", [legal.pk])
    assert Invitation.objects.get(pk=first.pk).withdrawn_at is not None
    links = {message.body.partition("/invitations/")[2].split()[0] for message in mail.outbox[-2:]}
    assert len(links) == 2
    withdraw = f"{PEOPLE}/invitations/{again.pk}/withdraw"
    assert withdraw in at.get(PEOPLE).content.decode()
    assert withdraw not in at.post(withdraw, follow=True).content.decode()
    assert Invitation.objects.get(pk=again.pk).withdrawn_at is not None


def test_names_are_escaped(at, viewer, legal):
    type(viewer).objects.filter(pk=viewer.pk).update(display_name="<img src=x onerror=alert(1)>")
    Group.objects.filter(pk=legal.pk).update(name="<b>Legal</b>")

    for address in (PEOPLE, f"{PEOPLE}/{viewer.pk}"):
        page = at.get(address).content.decode()
        assert "<img src=x" not in page
        assert "<b>Legal" not in page
        assert "&lt;img src=x" in page
