import re
from datetime import datetime, timedelta

import pytest
from django.core import mail
from django.utils import timezone

from kebab.cli.errors import Exit
from kebab.people.groups import create_group, rename_group
from kebab.people.invitations.lifecycle import find_invitation
from kebab.people.models import ApiToken, AuditEvent, GroupMember, Membership, Role, Workspace
from kebab.people.operator import command_line_access
from kebab.people.tokens import mint_token, verify_token
from tests.cli.commands import error_of, run, run_json
from tests.support.actors import make_member, make_person


@pytest.fixture
def group(workspace):
    return create_group(command_line_access(workspace), "legal")


def acts():
    return list(AuditEvent.objects.order_by("at").values_list("action", flat=True))


def test_workspace_is_created_renamed_and_deleted(db):
    owner = make_person()
    made = run_json("workspace", "create", "docs", "--name", "Docs", "--owner", owner.email)
    assert (made["slug"], made["name"]) == ("docs", "Docs")
    assert Membership.objects.get().role == "owner"
    assert error_of("workspace", "create", "docs", code=Exit.ERROR)["code"] == "slug_taken"
    assert run("workspace", "rename", "docs", "papers", "--name", "Papers")[0] == 0
    assert Workspace.objects.get().slug == "papers"

    code, _, err = run("workspace", "delete", "papers")
    assert (code, "--yes" in err, Workspace.objects.count()) == (Exit.NOTHING, True, 1)
    assert run("workspace", "delete", "papers", "--yes")[0] == 0
    assert not Workspace.objects.exists()
    assert acts() == ["workspace.created", "workspace.changed", "workspace.deleted"]


def test_group_is_created_filled_emptied_renamed_and_deleted(workspace):
    member = make_member(workspace)
    made = run_json("group", "create", "legal")
    assert run_json("group", "add", "legal", member.email)["id"] == made["id"]
    assert GroupMember.objects.get().membership.user == member
    (row,) = run_json("group", "list")["rows"]
    assert (row["name"], row["members"], row["tokens"], row["sources"]) == ("legal", 1, 0, 0)

    assert run("group", "rename", "legal", "law")[0] == 0
    assert run("group", "remove", "law", member.email)[0] == 0
    assert run("group", "remove", "law", member.email)[0] == Exit.NOTHING
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


def test_group_command_refuses_with_the_remedy(group, subtests):
    for arguments, code, remedy in (
        (("create", "legal"), Exit.ERROR, "legal"),
        (("create", " "), Exit.ERROR, "blank"),
        (("add", "legal", "nobody@example.org"), Exit.NOTHING, "kebab member list"),
        (("add", "nothing", "nobody@example.org"), Exit.NOTHING, "kebab group list"),
        (("delete", "nothing"), Exit.NOTHING, "kebab group list"),
    ):
        with subtests.test(arguments=arguments):
            found, out, err = run("group", *arguments)
            assert (found, out) == (code, "")
            assert remedy in err


def test_id_names_its_group_whatever_others_are_called(workspace, group):
    decoy = create_group(command_line_access(workspace), "decoy")
    rename_group(command_line_access(workspace), decoy.pk, str(group.pk))
    assert run_json("group", "delete", str(group.pk))["name"] == "legal"
    assert run_json("group", "delete", str(group.pk))["id"] == str(decoy.pk)


def test_truncated_list_names_the_command_for_more(workspace, group, monkeypatch):
    create_group(command_line_access(workspace), "other")
    for _ in range(2):
        make_member(workspace)
        mint_token(workspace, scopes=["search"])
    kinds = ("group", "member", "token")
    assert [run_json(kind, "list")["has_more"] for kind in kinds] == [False] * 3
    monkeypatch.setattr("kebab.cli.client.commands.list.print_listing.__defaults__", (1,))
    for kind in kinds:
        cut = run_json(kind, "list")
        assert (cut["has_more"], len(cut["rows"])) == (True, 1)
        assert f"kebab list {kind}s --limit" in run(kind, "list")[2]


def test_members_are_added_changed_and_removed(workspace):
    owner, ada = make_member(workspace, Role.OWNER), make_person("ada@example.org")
    assert run("member", "add", "Ada@Example.org", "--role", "editor")[0] == 0
    assert Membership.objects.get(user=ada).role == "editor"
    assert run("member", "role", ada.email, "admin")[0] == 0
    assert Membership.objects.get(user=ada).role == "admin"
    rows = {row["email"]: row for row in run_json("member", "list")["rows"]}
    assert (rows[ada.email]["role"], rows[ada.email]["groups"]) == ("admin", [])

    mint_token(workspace, scopes=["search"], created_by=ada)
    code, out, _ = run("member", "remove", ada.email)
    assert (code, "1" in out) == (0, True)  # a token of theirs still works
    assert run("member", "remove", ada.email)[0] == Exit.NOTHING
    assert acts() == ["member.added", "member.changed", "member.removed"]
    for arguments in (("remove", owner.email), ("role", owner.email, "viewer")):
        assert error_of("member", *arguments, code=Exit.ERROR)["code"] == "last_owner"
    assert Membership.objects.get().role == "owner"


def test_invitation_is_printed_mailed_listed_and_withdrawn(workspace, group, settings):
    code, out, err = run("member", "invite", "ada@example.org", "--role", "owner", "--group", "legal")
    link = out.strip()
    secret = link.rpartition("/")[2]
    assert code == 0
    assert re.fullmatch(r"http://\S+:\d+/invitations/[\w-]{43}", link)
    assert link in mail.outbox[0].body
    assert secret not in err
    invitation = find_invitation(secret)
    assert (invitation.role, invitation.group_ids) == ("owner", [group.pk])
    (row,) = run_json("list", "invitations")["rows"]
    assert (row["email"], row["state"]) == ("ada@example.org", "open")

    assert run("member", "withdraw", "ada@example.org")[0] == 0
    assert find_invitation(secret) is None
    assert run("member", "withdraw", "ada@example.org")[0] == Exit.NOTHING
    code, out, err = run("member", "invite", "rubbish")
    assert (code, out) == (Exit.ERROR, "")
    assert workspace.invitations.count() == 1
    settings.KEBAB_URL = "https://set.example.org"
    made = run_json("member", "invite", "ada@example.org")
    assert made["link"].startswith("https://set.example.org/invitations/")


def test_token_is_created_and_printed_once(workspace, group):
    made = run_json(
        "token", "create", "--scope", "search,ingest", "--expires", "30d", "--name", "ci", "--group", "legal"
    )
    token = verify_token(made["token"])
    assert str(token.pk) == made["id"]
    assert (token.scopes, made["groups"]) == (["ingest", "search"], [str(group.pk)])
    lasts = datetime.fromisoformat(made["expires_at"]) - timezone.now()
    assert timedelta(days=29) < lasts <= timedelta(days=30)
    assert AuditEvent.objects.get(action="token.created").actor.startswith("operator:")
    assert [row["groups"] for row in run_json("token", "list")["rows"]] == [["legal"]]

    narrowed = run_json("token", "create", "--scope", "search", "--tag", "public", "--metadata", "team=ops")
    assert narrowed["filters"] == {"tags_any": ["public"], "metadata": {"team": {"in": ["ops"]}}}
    assert verify_token(narrowed["token"]).filters == narrowed["filters"]

    code, out, err = run("token", "create", "--scope", "search")
    assert code == 0
    assert verify_token(out.strip()) is not None
    assert out.strip() not in err
    assert run("token", "create", "--scope", "search", "--group", "nothing")[0] == Exit.NOTHING
    assert workspace.tokens.count() == 3


def test_token_is_rotated_with_an_overlap_or_at_once(workspace, group):
    made, _ = mint_token(workspace, scopes=["search"], name="bot", groups=[group])
    new = run_json("token", "rotate", f"kbb_{made.prefix}", "--overlap", "2h")
    assert (new["name"], new["groups"], new["scopes"]) == ("bot", [str(group.pk)], ["search"])
    made.refresh_from_db()
    assert timedelta(minutes=119) < made.expires_at - timezone.now() <= timedelta(minutes=120)
    code, out, _ = run("token", "rotate", new["id"])
    assert code == 0
    assert verify_token(new["token"]) is None
    assert verify_token(out.strip()).group_ids == [group.pk]
    assert run("token", "rotate", new["id"])[0] == Exit.ERROR


def test_token_is_revoked_by_id_or_prefix(workspace):
    for named_by in (lambda t: str(t.pk), lambda t: t.prefix, lambda t: f"kbb_{t.prefix}"):
        token, secret = mint_token(workspace, scopes=["search"])
        assert run("token", "revoke", named_by(token))[0] == 0
        assert verify_token(secret) is None
    assert run("token", "revoke", "kbb_aaaaaaaaaaaa")[0] == Exit.NOTHING
    assert run("token", "revoke", "what?")[0] == Exit.NOTHING


def test_wrong_arguments_are_refused_before_anything_happens(workspace, subtests):
    for arguments in (
        ("create", "--scope", "all"),
        ("create", "--scope", "search", "--expires", "soon"),
        ("create",),
        ("rotate", "x", "--overlap", "2d"),
        ("rotate",),
        (),
    ):
        with subtests.test(arguments=arguments):
            assert error_of("token", *arguments, code=Exit.ERROR)["code"] == "invalid_arguments"
    assert not ApiToken.objects.exists()


def test_audit_and_other_things_are_listed(workspace, group):
    (row,) = run_json("list", "audit")["rows"]
    assert (row["action"], row["subject"], row["address"]) == ("group.created", "legal", None)
    assert run("list", "audit")[0] == 0
    assert run_json("list", "groups")["rows"][0]["name"] == "legal"
    assert run("list", "members")[0] == Exit.NOTHING
