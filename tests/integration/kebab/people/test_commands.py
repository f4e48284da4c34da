from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from kebab.exit_codes import Exit
from kebab.identity.models import ApiToken, AuditEvent, Membership, User, Workspace
from kebab.identity.tokens import mint_token, verify_token
from kebab.people.groups import create_group, rename_group
from kebab.people.operator import command_line_access
from tests.cli.commands import error_of, run, run_json
from tests.support.actors import make_member, make_person


@pytest.fixture
def group(workspace):
    return create_group(command_line_access(workspace), "legal")


def acts():
    return list(AuditEvent.objects.order_by("at").values_list("action", flat=True))


def test_workspace_of_no_named_owner_is_owned_by_the_oldest_operator(db):
    accounts = [User.objects.create_superuser(f"{name}@example.org", "x") for name in ("zoe", "ada")]
    assert run("workspace", "create", "docs")[0] == 0
    assert Membership.objects.get().user == accounts[0]
    User.objects.filter(pk=accounts[0].pk).update(is_active=False)
    assert run("workspace", "create", "more")[0] == 0
    assert Membership.objects.get(workspace__slug="more").user == accounts[1]


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


def test_truncated_list_names_the_command_for_more(workspace, monkeypatch):
    for _ in range(2):
        mint_token(workspace, scopes=["search"])
    assert run_json("token", "list")["next_cursor"] is None
    monkeypatch.setattr("kebab.cli.client.commands.list.print_listing.__defaults__", (1,))
    cut = run_json("token", "list")
    assert (cut["next_cursor"] is None, len(cut["results"])) == (False, 1)
    assert "kebab list tokens --limit" in run("token", "list")[2]


def test_group_is_found_by_id_before_names(workspace, group):
    decoy = create_group(command_line_access(workspace), "decoy")
    rename_group(command_line_access(workspace), decoy.pk, str(group.pk))
    made = run_json("token", "create", "--scope", "search", "--group", str(group.pk))
    assert made["groups"] == [str(group.pk)]
    missing = error_of("token", "create", "--scope", "search", "--group", "nothing", code=Exit.NOTHING)
    assert "kebab list groups" in missing["message"]


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
    assert "legal" in run("token", "list")[1].split()

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
    (row,) = run_json("list", "audit")["results"]
    assert (row["action"], row["subject"], row["address"]) == ("group.created", "legal", None)
    assert run("list", "audit")[0] == 0
    (listed,) = run_json("list", "groups")["results"]
    assert (listed["name"], listed["member_count"], listed["token_count"]) == ("legal", 0, 0)
    assert run("list", "members")[0] == Exit.NOTHING
    member = make_member(workspace)
    (listed,) = run_json("list", "members")["results"]
    assert (listed["user_id"], listed["email"], listed["groups"]) == (member.pk, member.email, [])
    assert str(member.pk) in run("list", "members")[1].split()
    sent = '{"email": "ada@example.org", "role": "viewer"}'
    run_json("api", "POST", "/workspaces/{ws}/invitations", "--data", sent)
    (listed,) = run_json("list", "invitations")["results"]
    assert (listed["email"], listed["state"]) == ("ada@example.org", "open")
