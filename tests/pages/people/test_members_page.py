"""The members of a workspace on pages: who is there, their roles, how they come and go."""

import uuid

import pytest
from django.core import mail

from kebab.people.groups import add_to_group, create_group
from kebab.people.models import Group, GroupMember, Invitation, Membership, Role
from kebab.people.operator import the_operator
from tests.pages.search.shelf import make_member

PEOPLE = "/w/handbook/people"
MANY_GROUPS = [str(uuid.UUID(int=number)) for number in range(101)]
REAL_MAIL = "tests.pages.people.mailing.TakenBackend"


def role_of(person, workspace):
    return Membership.objects.get(user=person, workspace=workspace).role


@pytest.fixture
def legal(workspace):
    return create_group(the_operator(workspace), "Legal")


def test_members_are_listed_with_role_groups_and_since_when(at, viewer, workspace, legal):
    membership = Membership.objects.get(user=viewer)
    GroupMember.objects.create(workspace=workspace, group=legal, membership=membership)
    Membership.objects.filter(pk=membership.pk).update(created_at="2024-03-02T10:00:00Z")
    page = at.get(PEOPLE).content.decode()

    row = page.partition("vera@example.org")[2].partition("</tr>")[0]
    assert '<td data-label="Role">viewer</td>' in row
    assert '<span class="tag">Legal</span>' in row
    assert "2 Mar 2024" in row
    assert "no-store" in at.get(PEOPLE)["Cache-Control"]


def test_the_tab_is_shown_to_those_who_may_open_it(at, as_person, viewer, admin):
    tab = '<a href="/w/handbook/people"'

    assert tab in at.get(PEOPLE).content.decode()
    assert tab in as_person(admin).get(PEOPLE).content.decode()
    refused = as_person(viewer).get(PEOPLE)
    assert refused.status_code == 403
    assert tab not in refused.content.decode()
    assert "olga@example.org" not in refused.content.decode()


def test_a_long_list_goes_on_at_the_next_address(at, workspace, monkeypatch):
    monkeypatch.setattr("kebab.pages.lists.ROWS", 2)
    for number in range(4):
        make_member(workspace, f"m{number}@example.org")
    seen, address = [], ""
    while address is not None:
        page = at.get(PEOPLE + address)
        seen += [member.membership.user.email for member in page.context["members"]]
        address = page.context["list"].next_address

    assert seen == ["olga@example.org", *(f"m{number}@example.org" for number in range(4))]


def test_a_role_is_changed(at, viewer, workspace, text_of):
    answer = at.post(f"{PEOPLE}/{viewer.pk}", {"role": "editor"}, follow=True)

    assert role_of(viewer, workspace) == Role.EDITOR
    assert "vera@example.org is editor now." in text_of(answer)


def test_nobody_gives_a_role_above_their_own(as_person, admin, viewer, workspace, text_of):
    answer = as_person(admin).post(f"{PEOPLE}/{viewer.pk}", {"role": "owner"})

    assert answer.status_code == 400
    assert "owner is not one of the available choices" in text_of(answer)
    assert role_of(viewer, workspace) == Role.VIEWER


def test_an_admin_does_not_change_an_owner(as_person, admin, owner, workspace, text_of):
    answer = as_person(admin).post(f"{PEOPLE}/{owner.pk}", {"role": "viewer"})

    assert answer.status_code == 403
    assert "Your role here is too low to give or take the role owner." in text_of(answer)
    assert 'name="role"' in answer.content.decode()
    assert role_of(owner, workspace) == Role.OWNER


def test_the_last_owner_can_neither_step_down_nor_leave_and_is_told_what_to_do(at, owner, workspace, text_of):
    for answer in (
        at.post(f"{PEOPLE}/{owner.pk}", {"role": "viewer"}),
        at.post(f"{PEOPLE}/{owner.pk}/remove"),
    ):
        assert answer.status_code == 409
        assert "This is the only owner; make somebody else an owner first" in text_of(answer)
    assert role_of(owner, workspace) == Role.OWNER


def test_an_owner_who_steps_down_is_taken_home(at, owner, workspace):
    make_member(workspace, "second@example.org", Role.OWNER)

    assert at.post(f"{PEOPLE}/{owner.pk}", {"role": "viewer"})["Location"] == "/"
    assert role_of(owner, workspace) == Role.VIEWER


def test_a_member_is_removed_and_asked_about_before(at, viewer, workspace, text_of):
    page = at.get(f"{PEOPLE}/{viewer.pk}").content.decode()
    assert "<summary>Remove vera@example.org</summary>" in page
    answer = at.post(f"{PEOPLE}/{viewer.pk}/remove", follow=True)

    assert not Membership.objects.filter(user=viewer, workspace=workspace).exists()
    assert "The member is removed." in text_of(answer)


def test_anybody_may_leave_and_nobody_else_is_removed_by_a_viewer(as_person, viewer, admin, workspace):
    visitor = as_person(viewer)

    assert visitor.post(f"{PEOPLE}/{admin.pk}/remove").status_code == 403
    assert Membership.objects.filter(user=admin).exists()
    assert visitor.post(f"{PEOPLE}/{viewer.pk}/remove")["Location"] == "/"
    assert not Membership.objects.filter(user=viewer).exists()


def test_a_member_is_put_into_groups_and_taken_out(at, viewer, workspace, legal):
    board = create_group(the_operator(workspace), "Board")
    address = f"{PEOPLE}/{viewer.pk}/groups"

    def groups():
        return set(GroupMember.objects.filter(membership__user=viewer).values_list("group", flat=True))

    offered = [str(legal.pk), str(board.pk)]
    at.post(address, {"groups": offered, "offered": offered})
    assert groups() == {legal.pk, board.pk}
    at.post(address, {"groups": [str(board.pk)], "offered": offered})
    assert groups() == {board.pk}
    at.post(address, {"offered": offered})
    assert groups() == set()


def test_a_group_that_was_not_offered_stays(at, viewer, workspace, legal):
    address = f"{PEOPLE}/{viewer.pk}"
    form = at.get(address).context["groups_form"]
    assert f'<input type="hidden" name="offered" value="{legal.pk}"' in at.get(address).content.decode()
    board = create_group(the_operator(workspace), "Board")
    add_to_group(the_operator(workspace), board.pk, viewer.pk)  # since the form was shown
    at.post(f"{address}/groups", {"groups": [str(legal.pk)], "offered": form["offered"].value()})

    assert GroupMember.objects.filter(membership__user=viewer).count() == 2


@pytest.mark.parametrize("field", ["groups", "offered"])
def test_groups_that_are_none_are_told(at, viewer, text_of, field):
    answer = at.post(f"{PEOPLE}/{viewer.pk}/groups", {field: ["x"]}, follow=True)

    assert "x is not one of the available choices" in text_of(answer)


@pytest.mark.parametrize("below", ["", "/groups", "/remove"])
def test_who_is_no_member_here_is_like_nobody(at, other_workspace, workspace, below):
    stranger = make_member(other_workspace, "stranger@example.org")
    strange = at.post(f"{PEOPLE}/{stranger.pk}{below}", {"role": "viewer"})
    missing = at.post(f"{PEOPLE}/99999999{below}", {"role": "viewer"})

    assert strange.status_code == missing.status_code == 404
    assert strange.content == missing.content


def test_another_workspaces_group_is_like_none(at, viewer, other_workspace):
    foreign = Group.objects.create(workspace=other_workspace, name="Theirs")
    answer = at.post(f"{PEOPLE}/{viewer.pk}/groups", {"groups": [str(foreign.pk)]})

    assert answer.status_code == 404
    assert not GroupMember.objects.exists()


@pytest.mark.parametrize("below", ["", "/{user}", "/{user}/groups", "/invitations/{invitation}/withdraw"])
def test_viewers_do_nothing_to_others(as_person, viewer, owner, workspace, at, below):
    at.post(PEOPLE, {"email": "new@example.org", "role": "viewer"})
    invitation = Invitation.objects.get()
    address = PEOPLE + below.format(user=owner.pk, invitation=invitation.pk)

    assert as_person(viewer).post(address, {"role": "viewer", "email": "x@example.org"}).status_code == 403
    assert role_of(owner, workspace) == Role.OWNER
    assert Invitation.objects.get().withdrawn_at is None


def test_somebody_is_invited_by_mail_with_role_and_groups(at, legal, workspace, settings, text_of):
    settings.EMAIL_BACKEND = REAL_MAIL
    form = {"email": "New@example.org", "role": "editor", "groups": [str(legal.pk)]}
    answer = at.post(PEOPLE, form, follow=True)
    invitation = Invitation.objects.get()

    assert (invitation.email, invitation.role, invitation.group_ids) == (
        "new@example.org",
        "editor",
        [legal.pk],
    )
    assert "An invitation is on its way to new@example.org." in text_of(answer)
    assert "/invitations/" not in answer.content.decode().replace(f"/invitations/{invitation.pk}/", "")


def test_an_owner_who_is_no_operator_never_sees_the_link(at, text_of):
    answer = at.post(PEOPLE, {"email": "new@example.org", "role": "viewer"}, follow=True)
    secret = mail.outbox[-1].body.partition("/invitations/")[2].split()[0]

    assert "this server sends no mail" in text_of(answer)
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


@pytest.mark.parametrize(
    ("fields", "status", "said"),
    [
        ({"email": "no address"}, 400, "Enter a valid email address."),
        ({"email": "vera@example.org"}, 409, "vera@example.org is a member already, as viewer."),
        ({"role": "king"}, 400, "king is not one of the available choices"),
        ({"groups": MANY_GROUPS}, 400, "Choose at most 100 groups."),
        ({"groups": ["x"]}, 400, "x is not one of the available choices"),
    ],
)
def test_what_cannot_be_invited_is_said_and_nothing_typed_is_lost(at, viewer, text_of, fields, status, said):
    typed = {"email": "new@example.org", "role": "editor", **fields}
    answer = at.post(PEOPLE, typed)

    assert answer.status_code == status
    assert said in text_of(answer)
    assert f'value="{typed["email"]}"' in answer.content.decode()
    assert not Invitation.objects.exists()


def test_too_many_invitations_are_refused_beside_the_form(at, settings, text_of):
    settings.KEBAB_INVITATION_LIMITS = settings.KEBAB_INVITATION_LIMITS | {"inviter": "1/hour"}
    at.post(PEOPLE, {"email": "one@example.org", "role": "viewer"})
    answer = at.post(PEOPLE, {"email": "two@example.org", "role": "viewer"})

    assert answer.status_code == 429
    assert "You have made too many invitations." in text_of(answer)
    assert 'value="two@example.org"' in answer.content.decode()


def test_an_open_invitation_is_withdrawn(at, text_of):
    at.post(PEOPLE, {"email": "new@example.org", "role": "viewer"})
    invitation = Invitation.objects.get()
    assert "new@example.org" in text_of(at.get(PEOPLE))
    answer = at.post(f"{PEOPLE}/invitations/{invitation.pk}/withdraw", follow=True)

    assert Invitation.objects.get().withdrawn_at is not None
    assert "Its link opens nothing any more." in text_of(answer)
    assert "Not answered yet" not in text_of(answer)


def test_an_invitation_is_sent_again_with_a_new_link_and_the_groups_that_are_left(at, workspace, legal):
    gone = create_group(the_operator(workspace), "Gone")
    at.post(PEOPLE, {"email": "new@example.org", "role": "editor", "groups": [str(legal.pk), str(gone.pk)]})
    first = Invitation.objects.get()
    gone.delete()
    at.post(f"{PEOPLE}/invitations/{first.pk}/again")
    again = Invitation.objects.exclude(pk=first.pk).get()

    assert (again.email, again.role, again.group_ids) == ("new@example.org", "editor", [legal.pk])
    assert Invitation.objects.get(pk=first.pk).withdrawn_at is not None
    links = {message.body.partition("/invitations/")[2].split()[0] for message in mail.outbox[-2:]}
    assert len(links) == 2


def test_another_workspaces_invitation_is_like_none(at, other_workspace):
    foreign = make_member(other_workspace, "boss@example.org", Role.OWNER)
    invitation = Invitation.objects.create(
        workspace=other_workspace,
        email="new@example.org",
        secret_sha256=b"x" * 32,
        invited_by=foreign.email,
        expires_at="2100-01-01T00:00:00Z",
    )
    for act in ("withdraw", "again"):
        assert at.post(f"{PEOPLE}/invitations/{invitation.pk}/{act}").status_code == 404
    assert Invitation.objects.get().withdrawn_at is None


def test_nothing_that_somebody_is_called_becomes_markup(at, viewer, legal):
    type(viewer).objects.filter(pk=viewer.pk).update(display_name="<img src=x onerror=alert(1)>")
    Group.objects.filter(pk=legal.pk).update(name="<b>Legal</b>")

    for address in (PEOPLE, f"{PEOPLE}/{viewer.pk}"):
        page = at.get(address).content.decode()
        assert "<img src=x" not in page
        assert "<b>Legal" not in page
        assert "&lt;img src=x" in page
