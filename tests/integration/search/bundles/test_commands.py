"""`kebab export` and `kebab import`."""

import json

import pytest

from kebab.identity.models import AuditEvent, Group, GroupMember, Membership, Role, User, Workspace
from kebab.identity.tokens import mint_token, verify_token
from kebab.people.operator import command_line_access
from kebab.people.workspaces import delete_workspace
from search.models import Document
from tests.cli.commands import error_of, run_json
from tests.support.database import empty_tables
from tests.support.search import ask, paths


def test_export_and_import_report_the_same_counts(workspace, tmp_path):
    file = tmp_path / "out.kebab"
    written = run_json("export", str(file), "--workspace", workspace.slug)
    operator = User.objects.create_superuser("zoe@example.org", "x")
    made = run_json("import", str(file), "--workspace", "elsewhere", "--name", "Elsewhere")
    assert Membership.objects.get(workspace__slug="elsewhere").user == operator

    assert written["schema_version"] == "bundle_export.v1"
    assert (written["documents"], written["chunks"]) == (made["documents"], made["chunks"]) == (13, 49)
    assert written["size_bytes"] == file.stat().st_size
    assert (made["workspace"], made["name"], made["detached_sources"]) == ("elsewhere", "Elsewhere", [])
    assert Workspace.objects.filter(pk=made["id"], slug="elsewhere").exists()


def test_refusals_have_their_codes(workspace, tmp_path):
    file = tmp_path / "out.kebab"
    run_json("export", str(file), "--workspace", workspace.slug)
    refused = [
        error_of("import", str(file), "--workspace", workspace.slug, code=2),
        error_of("export", str(file), "-w", workspace.slug, code=2),
        error_of("import", str(file), "--workspace", "No Slug", code=2),
        error_of("import", str(tmp_path / "none"), "--workspace", "fresh", code=1),
        error_of("export", str(tmp_path / "no" / "out"), "--workspace", workspace.slug, code=1),
    ]
    file.write_bytes(file.read_bytes()[:-1])
    refused.append(error_of("import", str(file), "--workspace", "fresh", code=2))

    assert [each["code"] for each in refused] == [
        "slug_taken",
        "bundle_exists",
        "invalid_slug",
        "bundle_unreadable",
        "bundle_unreadable",
        "bundle_damaged",
    ]
    assert "no/out" in refused[4]["message"]
    assert not Workspace.objects.filter(slug="fresh").exists()


@pytest.fixture
def moving(workspace, tmp_path):
    """Return arguments that import a workspace into an empty installation, and a token of it in a group."""
    files = [str(tmp_path / name) for name in ("out.kebab", "access.json")]
    keepers = Group.objects.get(name="keepers")
    ada = User.objects.create_user("ada@example.org", display_name="Ada")
    membership = Membership.objects.create(workspace=workspace, user=ada, role=Role.EDITOR)
    GroupMember.objects.create(workspace=workspace, membership=membership, group=keepers)
    left = User.objects.create_user("left@example.org", is_active=False)
    Membership.objects.create(workspace=workspace, user=left)
    token, secret = mint_token(workspace, scopes=["search"], groups=[keepers], filters={"tags": ["guide"]})
    revoked, _ = mint_token(workspace, scopes=["search"])
    revoked.__class__.objects.filter(pk=revoked.pk).update(revoked_at=revoked.created_at)
    run_json("export", files[0], "-w", workspace.slug, "--access", files[1])
    empty_tables()
    return ["import", files[0], "-w", workspace.slug, "--access", files[1]], token, secret


def test_workspace_moves_with_its_id_members_groups_and_tokens(workspace, moving, tmp_path):
    command, token, secret = moving
    User.objects.create_superuser("zoe@example.org", "x")
    assert run_json(*command)["id"] == str(workspace.pk)

    (keepers,) = Group.objects.filter(workspace=workspace)
    (membership,) = Membership.objects.filter(workspace=workspace)
    assert (membership.user.email, membership.user.display_name, membership.role) == (
        "ada@example.org",
        "Ada",
        "editor",
    )
    assert not membership.user.has_usable_password()
    assert [row.group for row in GroupMember.objects.filter(membership=membership)] == [keepers]
    (present,) = workspace.tokens.all()
    assert (present.name, present.scopes, present.filters) == (token.name, token.scopes, token.filters)
    assert verify_token(secret).group_ids == [keepers.pk]
    recorded = AuditEvent.objects.get(workspace=workspace, action="workspace.imported").detail
    assert (recorded["members"], recorded["tokens"]) == (["ada@example.org"], [token.prefix])
    assert (tmp_path / "access.json").stat().st_mode & 0o77 == 0


def test_deleted_workspace_comes_back_with_its_id(workspace, moving):
    run_json(*moving[0])
    before = paths(ask(workspace, "harbour"))
    delete_workspace(command_line_access(Workspace.objects.get()))
    assert run_json(*moving[0])["id"] == str(workspace.pk)
    assert paths(ask(workspace, "harbour")) == before != []
    assert error_of(*moving[0], code=2)["code"] == "slug_taken"


@pytest.mark.parametrize("fields", [{"password": "x"}, {"proved_email": "eve@example.org"}])
def test_account_that_has_not_proved_its_address_does_not_become_a_member(workspace, moving, fields):
    User.objects.create_user("ada@example.org", **fields)
    assert error_of(*moving[0], code=2)["code"] == "address_unproved"
    assert not Workspace.objects.exists() and not Document.objects.exists()


@pytest.mark.parametrize(
    "content", ["", "[]", '{"id": "x"}', '{"groups": [], "members": [], "tokens": [], "id": 7}']
)
def test_import_refuses_other_files_as_access(db, tmp_path, content):
    (tmp_path / "access.json").write_text(content)
    command = ["import", str(tmp_path / "none"), "-w", "fresh", "--access", str(tmp_path / "access.json")]
    assert error_of(*command, code=2)["code"] == "invalid_request"


@pytest.mark.parametrize(
    "rows",
    [
        {"members": [{}]},
        {"members": [7]},
        {"tokens": [{"digest": "x"}]},
        {"groups": [{"id": 1, "name": "x"}]},
    ],
)
def test_import_refuses_other_rows_as_access(workspace, moving, tmp_path, rows):
    file = tmp_path / "access.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | rows))
    assert error_of(*moving[0], code=2)["code"] == "invalid_request"
    assert not Workspace.objects.exists() and not Document.objects.exists()
