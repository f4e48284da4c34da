"""`kebab export` and `kebab import`."""

from kebab.identity.models import Membership, User, Workspace
from tests.cli.commands import error_of, run_json


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
