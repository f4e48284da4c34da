"""Sources over HTTP."""

import pytest

from ingest.models import Job
from kebab.people.models import AuditEvent
from search.corpus import ensure_source, ensure_version
from search.models import Document, Source
from tests.support.actors import Role, member_client
from tests.support.api import address, folder, run, upload
from tests.support.schemas import validate

pytestmark = pytest.mark.django_db(transaction=True)


def create(client, workspace, **body):
    headers = body.pop("headers", {})
    return client.post(address(workspace, "/sources"), body, format="json", headers=headers)


def test_a_source_is_made_with_all_that_is_said_of_it(client, workspace):
    said = {
        "key": "handbook",
        "kind": "upload",
        "title": "Handbook",
        "description": "For everybody.",
        "default_tags": ["a", "b"],
        "default_trust": "secondary",
        "stars": 99,
    }
    response = create(client, workspace, **said)
    body = response.json()

    assert response.status_code == 201
    assert {name: body[name] for name in said} == said
    assert (body["state"], body["config"]) == ("pending", {})
    assert client.get(response.headers["Location"]).json() == body
    assert AuditEvent.objects.get(action="source.created").subject == "handbook"


def test_its_documents_take_the_sources_defaults(client, workspace):
    create(client, workspace, key="handbook", kind="upload", default_tags=["a"], default_trust="secondary")
    doc_id = upload(client, workspace, source="handbook")
    document = client.get(address(workspace, f"/documents/{doc_id}")).json()

    assert (document["tags"], document["trust_level"]) == (["a"], "secondary")


def test_a_name_gives_key_and_title(client, workspace):
    body = create(client, workspace, name="Our Docs, 2nd_Edition", kind="upload").json()

    assert (body["key"], body["title"]) == ("our-docs-2nd-edition", "Our Docs, 2nd_Edition")
    response = create(client, workspace, name="文档", kind="upload")
    assert (response.status_code, response.json()["errors"][0]["field"]) == (400, "key")
    assert create(client, workspace, name="文档", key="docs", kind="upload").json()["title"] == "文档"


def test_a_taken_key_is_a_conflict(client, workspace):
    create(client, workspace, key="docs", kind="upload")
    response = create(client, workspace, key="docs", kind="upload")

    assert (response.status_code, response.json()["code"]) == (409, "source_exists")


def test_the_same_key_for_retries_makes_one_source(client, workspace):
    headers = {"Idempotency-Key": "k"}
    for _ in range(2):
        assert create(client, workspace, key="docs", kind="upload", headers=headers).status_code == 201
    assert Source.objects.in_workspace(workspace).count() == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("key", "No Slug"),
        ("key", "5f0c2a9e-7f6b-4f0e-9d39-0f6a2f6f2c11"),
        ("key", "5f0c2a9e7f6b4f0e9d390f6a2f6f2c11"),
        ("kind", "svn"),
        ("config", {"path": "/a", "x": 1}),
        ("config", {"path": "/a"}),
        ("default_trust", "best"),
        ("default_tags", "a"),
        ("title", "x" * 301),
        ("stars", -1),
        ("stars", 2**31),
        ("stars", "many"),
        ("x", 1),
    ],
)
def test_a_wrong_field_is_refused_by_its_name(client, workspace, field, value):
    response = create(client, workspace, **{"key": "docs", "kind": "upload", field: value})

    assert response.status_code == 400
    assert response.json()["errors"][0]["field"].startswith(field)


def test_a_folder_below_an_allowed_one_is_read_when_it_is_synced(client, workspace, tmp_path, settings):
    root = folder(settings, tmp_path, a_md="# A\n\nfirst\n", b_md="# B\n\nsecond\n")
    source = create(client, workspace, key="docs", kind="folder", config={"path": str(root)}).json()
    response = client.post(address(workspace, f"/sources/{source['id']}/sync"))
    assert response.status_code == 202
    assert response.json()["job"]["kind"] == "sync_source"
    event = AuditEvent.objects.get(action="source.sync_asked")
    assert (event.subject, event.detail) == ("docs", {"job": response.json()["job"]["id"]})
    assert run(workspace, response).state == "succeeded"

    report = client.get(response.headers["Location"]).json()["report"]
    validate("ingest_report.v1", report)
    assert (report["seen"], report["new"]) == (2, 2)
    assert client.get(address(workspace, f"/sources/{source['id']}")).json()["state"] == "indexed"


def test_a_sync_that_has_not_begun_is_joined(client, workspace, tmp_path, settings):
    root = folder(settings, tmp_path)
    source = create(client, workspace, key="docs", kind="folder", config={"path": str(root)}).json()
    path = address(workspace, f"/sources/{source['id']}/sync")

    assert client.post(path).json()["job"]["id"] == client.post(path).json()["job"]["id"]


@pytest.mark.parametrize(
    "path", ["/", "/etc", "{root}/..", "{root}/out", "/nowhere", "relative", "~", "{root}x"]
)
def test_no_folder_outside_the_allowed_ones_is_read(client, workspace, tmp_path, settings, path):
    root = folder(settings, tmp_path)
    settings.KEBAB_FOLDER_ROOTS = [root.resolve()]
    (root / "out").symlink_to("/etc")
    (tmp_path / "docsx").mkdir()
    config = {"path": path.format(root=root)}
    response = create(client, workspace, key="docs", kind="folder", config=config)

    assert (response.status_code, response.json()["code"]) == (422, "folder_not_allowed")
    assert "KEBAB_FOLDER_ROOTS" in response.json()["detail"]
    assert not Source.objects.in_workspace(workspace).exists()


@pytest.mark.parametrize("name", ["missing", "a.md", "x" * 300])
def test_a_folder_must_be_one(client, workspace, tmp_path, settings, name):
    root = folder(settings, tmp_path, a_md="# A\n")
    response = create(client, workspace, key="docs", kind="folder", config={"path": str(root / name)})

    assert (response.status_code, response.json()["code"]) == (422, "folder_not_allowed")


def test_no_folder_is_allowed_unless_the_operator_says_so(client, workspace, tmp_path, settings):
    settings.KEBAB_FOLDER_ROOTS = []
    response = create(client, workspace, key="docs", kind="folder", config={"path": str(tmp_path)})

    assert response.status_code == 422


def test_an_upload_source_is_not_synced(client, workspace):
    source = create(client, workspace, key="docs", kind="upload").json()
    response = client.post(address(workspace, f"/sources/{source['id']}/sync"))

    assert (response.status_code, response.json()["code"]) == (409, "nothing_to_sync")


@pytest.mark.parametrize(
    ("field", "value"),
    [("title", "New"), ("description", "New."), ("default_tags", ["n"]), ("default_trust", "primary")],
)
def test_what_is_said_of_a_source_can_be_changed(client, workspace, field, value):
    source = create(client, workspace, key="docs", kind="upload", description="Old.").json()
    path = address(workspace, f"/sources/{source['id']}")
    changed = client.patch(path, {field: value}, format="json")

    assert changed.status_code == 200
    assert changed.json() == client.get(path).json() == {**source, field: value}


def test_its_trust_score_follows_its_stars(client, workspace):
    made = create(client, workspace, key="docs", kind="upload", stars=99).json()
    path = address(workspace, f"/sources/{made['id']}")
    scores = [made["trust_score"]]
    for stars in (2**31 - 1, 0, 9, None):
        changed = client.patch(path, {"stars": stars}, format="json").json()
        assert changed["stars"] == stars
        scores.append(changed["trust_score"])

    assert scores == [2.0, 4.0, 0.0, 1.0, 0.0]
    assert AuditEvent.objects.filter(action="source.changed").last().detail["fields"] == ["stars"]


@pytest.mark.parametrize("field", ["key", "kind", "config", "x"])
def test_what_a_source_is_stays(client, workspace, field):
    source = create(client, workspace, key="docs", kind="upload").json()
    response = client.patch(address(workspace, f"/sources/{source['id']}"), {field: "new"}, format="json")

    assert (response.status_code, response.json()["code"]) == (400, "unknown_field")


def test_a_deleted_source_goes_with_its_documents_in_a_job(client, workspace):
    upload(client, workspace, source="docs")
    source = Source.objects.in_workspace(workspace).get()
    response = client.delete(address(workspace, f"/sources/{source.pk}"))

    assert (response.status_code, response.json()["job"]["kind"]) == (202, "delete_source")
    assert AuditEvent.objects.get(action="source.deleted").subject == "docs"
    assert run(workspace, response).state == "succeeded"
    assert not Document.objects.in_workspace(workspace).exists()
    assert client.get(address(workspace, f"/sources/{source.pk}")).status_code == 404
    assert client.get(response.headers["Location"]).json()["source"] is None


def test_sources_are_listed_by_key_page_by_page(reader, workspace):
    for key in ("c", "a", "b"):
        ensure_source(workspace, key, kind="upload")
    first = reader.get(address(workspace, "/sources?limit=2")).json()
    second = reader.get(address(workspace, f"/sources?limit=2&cursor={first['next_cursor']}")).json()

    assert [row["key"] for row in first["results"] + second["results"]] == ["a", "b", "c"]


def test_versions_are_listed_the_default_one_first(reader, workspace):
    source = ensure_source(workspace, "docs", kind="upload")
    for tag in ("2.0", "", "1.0"):
        ensure_version(source, tag)
    rows = reader.get(address(workspace, f"/sources/{source.pk}/versions")).json()["results"]

    assert [row["version"] for row in rows] == [None, "1.0", "2.0"]


def test_readers_change_no_source(client, reader, workspace):
    source = create(client, workspace, key="docs", kind="upload").json()
    path = address(workspace, f"/sources/{source['id']}")
    for caller in (reader, member_client(workspace, Role.VIEWER)):
        assert create(caller, workspace, key="b", kind="upload").status_code == 403
        assert caller.patch(path, {"title": "x"}, format="json").status_code == 403
        assert caller.delete(path).status_code == 403
        assert caller.post(f"{path}/sync").status_code == 403
    assert not Job.objects.exists()
