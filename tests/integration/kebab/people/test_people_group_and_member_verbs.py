"""The verbs `group`, `member`, `token rotate` and what `list` lists of people."""

import io
import json
import re
from contextlib import nullcontext
from datetime import timedelta

import pytest
from django.core import mail
from django.core.management import CommandError, call_command
from django.utils import timezone

from kebab.cli import verb
from kebab.cli.errors import Exit
from kebab.people.groups import create_group, rename_group
from kebab.people.invitations import find_invitation
from kebab.people.models import AuditEvent, GroupMember, Membership, Role
from kebab.people.operator import the_operator
from kebab.people.tokens import mint_token, verify_token
from tests.support.actors import make_member, make_person


@pytest.fixture(autouse=True)
def _servers_run_already(monkeypatch):
    monkeypatch.setattr(verb, "borrowed_stack", lambda *_, **__: nullcontext())


@pytest.fixture
def group(workspace):
    return create_group(the_operator(workspace), "legal")


def run(name, *arguments):
    """Give exit code, stdout and stderr of a verb."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command(name, *arguments, stdout=out, stderr=err)
    except SystemExit as end:
        return end.code, out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


def run_json(*arguments):
    code, out, err = run(*arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def acts():
    return list(AuditEvent.objects.order_by("at").values_list("action", flat=True))


def test_a_group_is_made_filled_emptied_renamed_and_deleted(workspace):
    member = make_member(workspace)
    made = run_json("group", "create", "legal")
    assert run_json("group", "add", "legal", member.email)["id"] == made["id"]
    assert GroupMember.objects.get().membership.user == member
    (row,) = run_json("group", "list")["rows"]
    assert (row["name"], row["members"], row["tokens"], row["sources"]) == ("legal", 1, 0, 0)

    assert run("group", "rename", "legal", "law")[0] == 0
    assert run("group", "remove", "law", member.email)[0] == 0
    assert not GroupMember.objects.exists()
    deleted = run_json("group", "delete", made["id"])
    assert (deleted["name"], deleted["members"], deleted["sources"]) == ("law", 0, 0)
    assert run("group", "list")[0] == Exit.NOTHING
    assert acts() == [
        "group.created",
        "group.member_added",
        "group.renamed",
        "group.member_removed",
        "group.deleted",
    ]
    assert {event.actor.partition(":")[0] for event in AuditEvent.objects.all()} == {"operator"}


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("create", "legal"), Exit.NOTHING, "already"),
        (("create", " "), Exit.ERROR, "1 to 100"),
        (("add", "legal", "nobody@example.org"), Exit.NOTHING, "kebab member list"),
        (("add", "nothing", "nobody@example.org"), Exit.NOTHING, "kebab group list"),
        (("delete", "nothing"), Exit.NOTHING, "kebab group list"),
    ],
)
def test_what_a_group_cannot_do_is_said_with_the_remedy(group, arguments, code, says):
    found, out, err = run("group", *arguments)

    assert (found, out) == (code, "")
    assert says in err


def test_who_is_not_in_a_group_is_not_taken_out(workspace, group):
    member = make_member(workspace)
    code, _, err = run("group", "remove", "legal", member.email)

    assert code == Exit.NOTHING
    assert f"{member.email} is not in legal" in err


def test_an_id_names_its_group_whatever_others_are_called(workspace, group):
    decoy = create_group(the_operator(workspace), "decoy")
    rename_group(the_operator(workspace), decoy.pk, str(group.pk))

    assert run_json("group", "delete", str(group.pk))["name"] == "legal"
    assert run_json("group", "delete", str(group.pk))["id"] == str(decoy.pk)


@pytest.mark.parametrize("kind", ["group", "member", "token"])
def test_a_list_that_is_cut_says_so(workspace, group, monkeypatch, kind):
    make_member(workspace)
    make_member(workspace)
    create_group(the_operator(workspace), "other")
    for _ in range(2):
        mint_token(workspace, scopes=["search"])
    assert run_json(kind, "list")["has_more"] is False

    monkeypatch.setattr("kebab.people.management.commands.list._ROWS_OF_VERBS", 1)
    cut = run_json(kind, "list")
    assert (cut["has_more"], len(cut["rows"])) == (True, 1)
    assert f"kebab list {kind}s --limit" in run(kind, "list")[2]


def test_members_come_change_and_go(workspace):
    make_member(workspace, Role.OWNER)
    ada = make_person("ada@example.org")
    assert run("member", "add", "Ada@Example.org", "--role", "editor")[0] == 0
    assert Membership.objects.get(user=ada).role == "editor"
    assert run("member", "role", ada.email, "admin")[0] == 0
    assert Membership.objects.get(user=ada).role == "admin"
    rows = {row["email"]: row for row in run_json("member", "list")["rows"]}
    assert (rows[ada.email]["role"], rows[ada.email]["groups"]) == ("admin", [])

    mint_token(workspace, scopes=["search"], created_by=ada)
    code, out, _ = run("member", "remove", ada.email)
    assert code == 0
    assert "still work: 1" in out
    assert run("member", "remove", ada.email)[0] == Exit.NOTHING
    assert acts() == ["member.added", "member.changed", "member.removed"]


def test_the_last_owner_stays_on_the_command_line_too(workspace):
    owner = make_member(workspace, Role.OWNER)
    for arguments in (("remove", owner.email), ("role", owner.email, "viewer")):
        code, _, err = run("member", *arguments, "--json")
        assert (code, json.loads(err)["code"]) == (Exit.NOTHING, "last_owner")
    assert Membership.objects.get().role == "owner"


def test_an_invitation_is_printed_mailed_listed_and_withdrawn(workspace, group):
    code, out, err = run("member", "invite", "ada@example.org", "--role", "owner", "--group", "legal")
    link = out.strip()
    secret = link.rpartition("/")[2]
    assert code == 0
    assert re.fullmatch(r"http://\S+:\d+/invitations/[\w-]{43}", link)
    assert link in mail.outbox[0].body
    assert "An operator invites you" in mail.outbox[0].subject
    assert secret not in err
    invitation = find_invitation(secret)
    assert (invitation.role, invitation.group_ids) == ("owner", [group.pk])
    (row,) = run_json("list", "invitations")["rows"]
    assert (row["email"], row["state"]) == ("ada@example.org", "open")

    assert run("member", "withdraw", "ada@example.org")[0] == 0
    assert find_invitation(secret) is None
    assert run("member", "withdraw", "ada@example.org")[0] == Exit.NOTHING


def test_a_link_is_where_people_find_kebab(workspace, settings):
    made = run_json("member", "invite", "ada@example.org", "--url", "https://kebab.example.org/")

    assert made["link"].startswith("https://kebab.example.org/invitations/")
    assert made["is_mailed"] is False

    settings.KEBAB_URL = "https://set.example.org"
    made = run_json("member", "invite", "ada@example.org")
    assert made["link"].startswith("https://set.example.org/invitations/")


@pytest.mark.parametrize("email", ["rubbish", f"a@{'ü' * 63}.com"])
def test_what_no_mail_can_be_sent_to_is_not_invited(workspace, email):
    code, out, err = run("member", "invite", email)

    assert code not in (0, Exit.NOTHING)
    assert "No mail can be sent to" in err
    assert not out and not workspace.invitations.exists()


def test_a_token_is_made_with_groups_and_replaced_by_one_like_it(workspace, group):
    made = run_json("token", "create", "--scope", "search", "--group", "legal", "--name", "bot")
    assert made["groups"] == [str(group.pk)]
    assert [row["groups"] for row in run_json("token", "list")["rows"]] == [["legal"]]

    new = run_json("token", "rotate", "_".join(made["token"].split("_")[:2]), "--overlap", "2h")
    assert (new["name"], new["groups"], new["scopes"]) == ("bot", [str(group.pk)], ["search"])
    old = verify_token(made["token"])
    assert timedelta(minutes=119) < old.expires_at - timezone.now() <= timedelta(minutes=120)
    code, out, _ = run("token", "rotate", new["id"])
    assert code == 0
    assert verify_token(new["token"]) is None
    assert verify_token(out.strip()).group_ids == [group.pk]
    assert run("token", "rotate", new["id"])[0] == Exit.NOTHING


@pytest.mark.parametrize("arguments", [("rotate", "x", "--overlap", "2d"), ("rotate",), ()])
def test_wrong_arguments_replace_nothing(workspace, arguments):
    with pytest.raises(CommandError):
        call_command("token", *arguments)


def test_a_token_is_not_made_for_a_group_that_is_not_there(workspace):
    assert run("token", "create", "--scope", "search", "--group", "nothing")[0] == Exit.NOTHING
    assert not workspace.tokens.exists()


def test_the_audit_is_listed_for_people_and_programs(workspace, group):
    (row,) = run_json("list", "audit")["rows"]
    assert (row["action"], row["subject"], row["address"]) == ("group.created", "legal", None)
    code, out, _ = run("list", "audit")
    assert code == 0
    assert f"id: {group.pk}" in out
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\dZ", out)
    assert run_json("list", "groups")["rows"][0]["name"] == "legal"
    assert run("list", "members")[0] == Exit.NOTHING
