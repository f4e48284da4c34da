"""Sources over HTTP: created, changed, synced, scheduled and deleted."""

from datetime import datetime

import pytest
from django.utils import timezone

from ingest.jobs.queue.schedule import MAX_FAILURES, request_due_syncs
from ingest.models import Job
from kebab.identity.models import AuditEvent
from search.corpus import ensure_source, ensure_version
from search.mirror import local_mirrors
from search.models import Document, Source
from tests.api.refusals import refusal_of
from tests.support.actors import Role, member_client
from tests.support.api import address, folder, run, run_to_end, upload
from tests.support.schemas import validate

pytestmark = pytest.mark.django_db(transaction=True)

SCHEDULE = {
    "watch": False,
    "sync_every_minutes": None,
    "last_sync_at": None,
    "next_sync_at": None,
    "sync_failures": 0,
    "is_sync_paused": False,
}


def create(client, workspace, *, headers=None, **body):
    return client.post(address(workspace, "/sources"), body, format="json", headers=headers or {})


def change(client, workspace, source, **body):
    return client.patch(address(workspace, f"/sources/{source['id']}"), body, format="json")


def sync(client, workspace, source):
    return client.post(address(workspace, f"/sources/{source['id']}/sync"))


@pytest.fixture
def docs(client, workspace, settings, tmp_path):
    """Return a folder source of two files, as the API shows it."""
    root = folder(settings, tmp_path, a_md="# A\n\nfirst\n", b_md="# B\n\nsecond\n")
    return create(client, workspace, key="docs", kind="folder", config={"path": str(root)}).json()


def test_source_is_created_with_all_its_fields(client, workspace):
    stated = {
        "key": "handbook",
        "kind": "upload",
        "title": "Handbook",
        "description": "For everybody.",
        "default_tags": ["a", "b"],
        "default_trust": "secondary",
        "stars": 99,
        "rules": ["Be brief."],
    }
    response = create(client, workspace, **stated)
    body = response.json()

    assert response.status_code == 201
    assert {name: body[name] for name in stated} == stated
    assert {name: body[name] for name in SCHEDULE} == SCHEDULE
    assert (body["state"], body["config"]) == ("pending", {})
    assert client.get(response.headers["Location"]).json() == body
    assert AuditEvent.objects.get(action="source.created").subject == "handbook"

    doc_id = upload(client, workspace, source="handbook")
    document = client.get(address(workspace, f"/documents/{doc_id}")).json()
    assert (document["tags"], document["trust_level"]) == (["a", "b"], "secondary")


def test_name_gives_key_and_title(client, workspace):
    body = create(client, workspace, name="Our Docs, 2nd_Edition", kind="upload").json()
    assert (body["key"], body["title"]) == ("our-docs-2nd-edition", "Our Docs, 2nd_Edition")
    response = create(client, workspace, name="文档", kind="upload")
    assert refusal_of(response) == (400, "invalid_request", "key")
    assert create(client, workspace, name="文档", key="docs", kind="upload").json()["title"] == "文档"
    assert refusal_of(create(client, workspace, key="docs", kind="upload")) == (409, "source_exists", None)


def test_source_with_an_idempotency_key_is_created_once(client, workspace):
    for _ in range(2):
        made = create(client, workspace, key="docs", kind="upload", headers={"Idempotency-Key": "k"})
        assert made.status_code == 201
    assert Source.objects.in_workspace(workspace).count() == 1


WRONG_FIELDS = [
    ("key", "No Slug", "key"),
    ("key", "5f0c2a9e-7f6b-4f0e-9d39-0f6a2f6f2c11", "key"),
    ("key", "5f0c2a9e7f6b4f0e9d390f6a2f6f2c11", "key"),
    ("kind", "svn", "kind"),
    ("config", {"path": "/a"}, "config"),
    ("default_trust", "best", "default_trust"),
    ("default_tags", "a", "default_tags"),
    ("title", "x" * 301, "title"),
    ("stars", -1, "stars"),
    ("stars", 2**31, "stars"),
    ("stars", "many", "stars"),
    ("x", 1, "x"),
    ("rules", "Be brief.", "rules"),
    ("rules", ["x" * 1_001], "rules[0]"),
    ("rules", [""], "rules[0]"),
    ("rules", ["a"] * 101, "rules"),
    ("watch", True, "watch"),
    ("watch", None, "watch"),
    ("sync_every_minutes", 60, "sync_every_minutes"),
]


def test_wrong_field_is_refused_by_its_name(client, workspace, docs, subtests):
    for name, value, field in WRONG_FIELDS:
        with subtests.test(name=name, value=str(value)[:30]):
            status, _, refused_field = refusal_of(
                create(client, workspace, **{"key": "a", "kind": "upload", name: value})
            )
            assert (status, refused_field) == (400, field)
    files = create(client, workspace, key="files", kind="upload").json()
    for source, name, value in (
        (docs, "sync_every_minutes", 4),
        (docs, "sync_every_minutes", 43_201),
        (docs, "sync_every_minutes", "often"),
        (docs, "watch", None),
        (docs, "rules", "Be brief."),
        (files, "watch", True),
        (files, "sync_every_minutes", 60),
    ):
        with subtests.test(changed=name, value=value):
            assert refusal_of(change(client, workspace, source, **{name: value})) == (
                400,
                "invalid_request",
                name,
            )
    for name in ("key", "kind", "config", "x"):
        answer = change(client, workspace, files, **{name: "new"})
        assert refusal_of(answer) == (400, "unknown_field", name)


def test_folder_is_read_when_it_is_synced(client, workspace, docs):
    response = sync(client, workspace, docs)
    assert response.status_code == 202
    assert response.json()["job"]["kind"] == "sync_source"
    assert sync(client, workspace, docs).json()["job"]["id"] == response.json()["job"]["id"]
    event = AuditEvent.objects.filter(action="source.sync_asked").first()
    assert (event.subject, event.detail) == ("docs", {"job": response.json()["job"]["id"]})
    assert run(workspace, response).state == "succeeded"

    report = client.get(response.headers["Location"]).json()["report"]
    validate("ingest_report.v1", report)
    assert (report["seen"], report["new"]) == (2, 2)
    assert client.get(address(workspace, f"/sources/{docs['id']}")).json()["state"] == "indexed"


def test_folder_outside_the_allowed_ones_is_refused(client, workspace, tmp_path, settings, subtests):
    root = folder(settings, tmp_path, a_md="# A\n")
    (root / "out").symlink_to("/etc")
    (tmp_path / "docsx").mkdir()
    settings.KEBAB_FOLDER_ROOTS = [root.resolve()]
    outside = ["/", "/etc", f"{root}/..", f"{root}/out", "/nowhere", "relative", "~", f"{root}x"]
    no_folders = [f"{root}/missing", f"{root}/a.md", f"{root}/{'x' * 300}"]
    for path in outside + no_folders:
        with subtests.test(path=path[:60]):
            response = create(client, workspace, key="docs", kind="folder", config={"path": path})
            assert refusal_of(response)[:2] == (422, "folder_not_allowed")
            assert path in no_folders or "KEBAB_FOLDER_ROOTS" in response.json()["detail"]
    settings.KEBAB_FOLDER_ROOTS = []
    response = create(client, workspace, key="docs", kind="folder", config={"path": str(tmp_path)})
    assert refusal_of(response)[:2] == (422, "folder_not_allowed")
    assert not Source.objects.in_workspace(workspace).exists()


def test_upload_source_is_not_synced(client, workspace):
    source = create(client, workspace, key="docs", kind="upload").json()
    assert refusal_of(sync(client, workspace, source)) == (409, "nothing_to_sync", None)


def test_fields_of_a_source_are_changed(client, workspace):
    source = create(client, workspace, key="docs", kind="upload", description="Old.").json()
    path = address(workspace, f"/sources/{source['id']}")
    for field, value in (
        ("title", "New"),
        ("default_tags", ["n"]),
        ("default_trust", "primary"),
        ("rules", ["Be brief."]),
        ("rules", []),
        ("description", "New."),
    ):
        changed = change(client, workspace, source, **{field: value})
        source = {**source, field: value}
        assert changed.status_code == 200
        assert changed.json() == client.get(path).json() == source, field


@pytest.mark.parametrize("batch", [10, 1], ids=["at once", "in a job"])
def test_new_default_trust_applies_to_documents_without_a_sync(
    client, workspace, settings, tmp_path, monkeypatch, batch
):
    monkeypatch.setattr("search.corpus.trust_levels.BATCH", batch)
    monkeypatch.setattr("ingest.services.sources.BATCH", batch)
    root = folder(settings, tmp_path, a_md="---\ntrust: generated\n---\nfirst\n", b_md="pine", c_md="pine")
    source = create(client, workspace, key="docs", kind="folder", config={"path": str(root)}).json()
    run(workspace, sync(client, workspace, source))
    (root / "b.md").unlink()
    assert change(client, workspace, source, default_trust="primary").status_code == 200
    for job in Job.objects.filter(kind="rechunk"):
        assert run_to_end(job).state == "succeeded"

    workspace.refresh_from_db()
    local_mirrors.wait_for_seq(workspace.pk, workspace.head_seq, limit_s=10)
    found = client.get(
        address(workspace, "/search"), {"q": "pine", "mode": "lexical", "trust_min": "primary"}
    )
    assert {hit["doc_path"] for hit in found.json()["hits"]} == {"b.md", "c.md"}
    levels = Document.objects.in_workspace(workspace).values_list("path", "trust_level")
    assert dict(levels) == {"a.md": "generated", "b.md": "primary", "c.md": "primary"}


def test_trust_score_follows_the_stars(client, workspace):
    source = create(client, workspace, key="docs", kind="upload", stars=99).json()
    scores = [source["trust_score"]]
    for stars in (2**31 - 1, 0, 9, None):
        changed = change(client, workspace, source, stars=stars).json()
        assert changed["stars"] == stars
        scores.append(changed["trust_score"])

    assert scores == [2.0, 4.0, 0.0, 1.0, 0.0]
    assert AuditEvent.objects.filter(action="source.changed").last().detail["fields"] == ["stars"]


def test_source_shows_library_id_trust_score_and_snippet_count(client, workspace):
    doc_id = upload(client, workspace, source="docs")
    source = ensure_source(workspace, "docs", kind="upload")
    path = address(workspace, f"/sources/{source.pk}")
    body = client.get(path).json()

    assert (body["library_id"], body["total_snippets"], body["rules"]) == ("/local/docs", 1, [])
    assert (body["state"], body["trust_score"]) == ("indexed", 1.0)
    assert client.patch(path, {"description": "All."}, format="json").json()["trust_score"] == 2.0

    upload(client, workspace, "other.md", source="docs", text="one\n")
    assert client.delete(address(workspace, f"/documents/{doc_id}")).status_code == 204
    assert client.get(path).json()["total_snippets"] == 1


def test_source_is_deleted_with_its_documents_in_a_job(client, workspace):
    upload(client, workspace, source="docs")
    source = Source.objects.in_workspace(workspace).get()
    response = client.delete(address(workspace, f"/sources/{source.pk}"))

    assert (response.status_code, response.json()["job"]["kind"]) == (202, "delete_source")
    assert AuditEvent.objects.get(action="source.deleted").subject == "docs"
    assert run(workspace, response).state == "succeeded"
    assert not Document.objects.in_workspace(workspace).exists()
    assert client.get(address(workspace, f"/sources/{source.pk}")).status_code == 404
    assert client.get(response.headers["Location"]).json()["source"] is None


def test_sources_are_listed_by_key_and_versions_default_first(reader, workspace):
    for key in ("c", "a", "b"):
        source = ensure_source(workspace, key, kind="upload")
    first = reader.get(address(workspace, "/sources?limit=2")).json()
    second = reader.get(address(workspace, f"/sources?limit=2&cursor={first['next_cursor']}")).json()
    assert [row["key"] for row in first["results"] + second["results"]] == ["a", "b", "c"]

    for tag in ("2.0", "", "1.0"):
        ensure_version(source, tag)
    rows = reader.get(address(workspace, f"/sources/{source.pk}/versions")).json()["results"]
    assert [row["version"] for row in rows] == [None, "1.0", "2.0"]


def test_readers_change_no_source(client, reader, workspace):
    source = create(client, workspace, key="docs", kind="upload").json()
    for caller in (reader, member_client(workspace, Role.VIEWER)):
        assert create(caller, workspace, key="b", kind="upload").status_code == 403
        assert change(caller, workspace, source, title="x").status_code == 403
        assert caller.delete(address(workspace, f"/sources/{source['id']}")).status_code == 403
        assert sync(caller, workspace, source).status_code == 403
    assert not Job.objects.exists()


def minutes_until(moment):
    return (datetime.fromisoformat(moment) - timezone.now()).total_seconds() / 60


def test_new_source_with_a_schedule_is_synced_at_once(client, workspace, settings, tmp_path):
    config = {"path": str(folder(settings, tmp_path, a_md="# A\n\nfirst\n"))}
    schedule = {"watch": True, "sync_every_minutes": 60}
    source = create(client, workspace, key="docs", kind="folder", config=config, **schedule).json()
    assert {name: source[name] for name in schedule} == schedule
    assert minutes_until(source["next_sync_at"]) <= 0

    assert request_due_syncs() == 1
    assert run_to_end(Job.objects.get(kind="sync_source")).state == "succeeded"
    source = client.get(address(workspace, f"/sources/{source['id']}")).json()
    assert minutes_until(source["last_sync_at"]) > -1
    assert 50 < minutes_until(source["next_sync_at"]) < 70


def test_schedule_is_changed_and_removed(client, workspace, docs):
    changed = change(client, workspace, docs, sync_every_minutes=10, watch=True).json()
    assert (changed["sync_every_minutes"], changed["watch"]) == (10, True)
    assert 8 < minutes_until(changed["next_sync_at"]) < 12
    other = change(client, workspace, docs, title="Docs").json()
    assert other["next_sync_at"] == changed["next_sync_at"]
    changed = change(client, workspace, docs, sync_every_minutes=None, watch=False).json()
    assert {name: changed[name] for name in SCHEDULE} == SCHEDULE


def test_paused_schedule_is_resumed_when_stated_again(client, workspace, docs):
    change(client, workspace, docs, sync_every_minutes=10)
    Source.objects.update(sync_failures=MAX_FAILURES, next_sync_at=None)
    seen = client.get(address(workspace, f"/sources/{docs['id']}")).json()
    assert (seen["is_sync_paused"], seen["sync_failures"], seen["next_sync_at"]) == (True, MAX_FAILURES, None)
    again = change(client, workspace, docs, sync_every_minutes=10).json()
    assert (again["is_sync_paused"], again["sync_failures"]) == (False, 0)
    assert again["next_sync_at"] is not None
