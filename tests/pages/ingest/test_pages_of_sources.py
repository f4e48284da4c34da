"""The list of sources, a source's page, and its sync and delete actions."""

import re
import shutil
import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from ingest.models import Job, Unreadable
from kebab.identity.models import AuditEvent, Group
from search.access.restrictions import restrict
from search.corpus import ensure_source, ensure_version
from search.models import Document, Source
from tests.pages.page_text import markup_of
from tests.pages.search.shelf import shelve
from tests.support.api import quarantine
from tests.support.jobs import fill, work

LIST = "/w/handbook/sources"


@pytest.fixture
def root(tmp_path, settings):
    settings.KEBAB_FOLDER_ROOTS = [tmp_path.resolve()]
    fill(tmp_path / "docs", {"a.md": "# Alpha\n\nfirst\n", "guide/b.md": "# Beta\n\nsecond\n"})
    return tmp_path / "docs"


@pytest.fixture
def docs(workspace, root):
    return Source.objects.create(
        workspace=workspace, key="docs", kind="folder", title="Our docs", config={"path": str(root)}
    )


@pytest.fixture
def restricted_source(workspace):
    source = ensure_source(workspace, "salaries", kind="upload")
    restrict(source, [Group.objects.create(workspace=workspace, name="Board").pk])
    return source


def page_of(source):
    return f"{LIST}/{source.pk}"


def sync_job(client, source):
    assert client.post(f"{page_of(source)}/sync").status_code == 302
    return work(Job.objects.get(source=source, kind="sync_source"))


def test_sources_are_listed_with_their_documents_syncs_and_state(visit, workspace, viewer, docs):
    shelve(workspace, "a.md", "first")
    shelve(workspace, "b.md", "second")
    page = markup_of(visit(viewer).get(LIST))
    assert "Our docs" in page
    assert '<td class="number" data-label="Documents">2</td>' in page

    Source.objects.filter(pk=docs.pk).update(
        last_sync_at="2026-01-02T03:04:00Z", next_sync_at="2026-05-06T07:08:00Z", state="error"
    )
    page = markup_of(visit(viewer).get(LIST))
    assert "2 Jan 2026, 03:04" in page
    assert "6 May 2026, 07:08" in markup_of(visit(viewer).get(page_of(docs)))
    assert "failed" in page
    Source.objects.filter(pk=docs.pk).update(sync_every_minutes=60, sync_failures=8)
    assert "paused" in markup_of(visit(viewer).get(LIST))


def test_restricted_source_is_marked_for_readers_and_missing_for_others(
    visit, viewer, admin, restricted_source
):
    assert "restricted" in markup_of(visit(admin).get(LIST))
    assert "Board" in markup_of(visit(admin).get(page_of(restricted_source)))
    assert "salaries" not in markup_of(visit(viewer).get(LIST))
    hidden, missing = (
        visit(viewer).get(page_of(restricted_source)),
        visit(viewer).get(f"{LIST}/{uuid.uuid4()}"),
    )
    assert (hidden.status_code, hidden.content) == (404, missing.content)


def test_unreadable_files_of_a_source_are_counted_beside_its_state(visit, workspace, viewer, docs):
    wiki = ensure_source(workspace, "wiki", kind="upload")
    for source, path in ((docs, "a.doc"), (docs, "b.doc"), (wiki, "c.doc")):
        quarantine(workspace, ensure_version(source), path)
    link = re.compile(r'<a href="/w/handbook/quarantine\?source=docs">(\d+)')
    for address in (LIST, page_of(docs)):
        assert link.findall(markup_of(visit(viewer).get(address))) == ["2"]
    Unreadable.objects.all().delete()

    for address in (LIST, page_of(docs)):
        assert "/quarantine" not in markup_of(visit(viewer).get(address))


def test_many_sources_come_page_by_page(visit, workspace, viewer):
    for number in range(51):
        ensure_source(workspace, f"s-{number:02}", kind="upload")
    first = visit(viewer).get(LIST)
    second = visit(viewer).get(LIST + first.context["list"].next_address)

    assert ["s-49" in markup_of(page) for page in (first, second)] == [True, False]
    assert ["s-50" in markup_of(page) for page in (first, second)] == [False, True]


@pytest.mark.django_db(transaction=True)
def test_sync_button_reads_the_source_and_shows_its_documents(visit, editor, docs):
    client = visit(editor)
    job = sync_job(client, docs)
    page = markup_of(client.get(page_of(docs)))

    assert (job.state, job.requested_by) == ("succeeded", editor.email)
    for shown in ("Alpha", "?path=guide/", "2 new"):
        assert shown in page
    assert AuditEvent.objects.filter(action="source.sync_asked", subject="docs").exists()
    narrowed = markup_of(client.get(page_of(docs), {"path": "guide/"}))
    assert "Beta" in narrowed
    assert "Alpha" not in narrowed
    assert "Beta" not in markup_of(client.get(page_of(docs)))
    assert "Beta" in markup_of(client.get(page_of(docs), {"q": "BET"}))
    assert "<q>&lt;nowhere&gt;</q>" in markup_of(client.get(page_of(docs), {"q": "<nowhere>"}))


def test_connection_is_tested_and_the_result_shown(visit, editor, docs, root):
    client = visit(editor)
    form = f'action="{page_of(docs)}/test"'
    assert form in markup_of(client.get(page_of(docs)))
    shown = client.post(f"{page_of(docs)}/test", follow=True)
    assert shown.redirect_chain == [(page_of(docs), 302)]
    assert "Connected. The folder can be read." in markup_of(shown)
    shutil.rmtree(root)
    failed = client.post(f"{page_of(docs)}/test", follow=True)
    assert (failed.status_code, "can’t be read" in markup_of(failed)) == (200, True)
    assert not Job.objects.exists()


def test_page_of_a_source_shows_documents_versions_and_failed_syncs(visit, workspace, viewer, docs):
    document = shelve(workspace, "ops/deploy.md", "Push the image.", title="Deploy")
    page = markup_of(visit(viewer).get(page_of(document.source), {"path": "ops/"}))
    assert f'href="/w/handbook/documents/{document.doc_id.hex}"' in page

    for tag in ("", "v1", "v2"):
        docs.versions.create(workspace=workspace, tag=tag, title=f"Title {tag}")
    ended = {"state": "failed", "finished_at": timezone.now() - timedelta(hours=1)}
    Job.objects.create(workspace=workspace, source=docs, kind="sync_source", error="It is <gone>.", **ended)
    page = markup_of(visit(viewer).get(page_of(docs)))
    for shown in ("Title v1", "Title v2", "It is &lt;gone&gt;."):
        assert shown in page
    assert "/sync" not in page
    assert "/delete" not in page
    assert "<dt>Schedule</dt><dd>Manually</dd>" in page and "Next sync" not in page


@pytest.mark.django_db(transaction=True)
def test_deleting_a_source_takes_its_documents(visit, editor, docs):
    client = visit(editor)
    sync_job(client, docs)
    assert f'action="{page_of(docs)}/delete"' in markup_of(client.get(page_of(docs)))
    answer = client.post(f"{page_of(docs)}/delete", follow=True)
    work(Job.objects.get(kind="delete_source"))

    assert answer.redirect_chain == [(LIST, 302)]
    assert not Source.objects.filter(key="docs").exists()
    assert AuditEvent.objects.filter(action="source.deleted", subject="docs").exists()


@pytest.mark.django_db(transaction=True)
def test_deleting_a_version_takes_its_documents_alone(visit, workspace, editor):
    first, _ = (shelve(workspace, f"{tag}.md", "text", version=tag) for tag in ("v1", "v2"))
    client, page = visit(editor), page_of(first.source)
    assert f'action="{page}/versions/delete"' in markup_of(client.get(page))
    client.post(f"{page}/versions/delete", {"tag": "v1"})
    work(Job.objects.get())

    assert list(Document.objects.values_list("path", flat=True)) == ["v2.md"]
    assert client.post(f"{page}/versions/delete", {"tag": "v1"}).status_code == 404


def test_actions_on_a_hidden_source_are_answered_like_a_missing_one(
    visit, editor, workspace, restricted_source
):
    client = visit(editor)
    for act in ("sync", "test", "delete"):
        hidden = client.post(f"{page_of(restricted_source)}/{act}")
        missing = client.post(f"{LIST}/{uuid.uuid4()}/{act}")
        assert (hidden.status_code, hidden.content) == (404, missing.content)
    uploads = page_of(ensure_source(workspace, "uploads", kind="upload"))
    assert "/sync" not in markup_of(client.get(uploads))
    assert client.post(f"{uploads}/sync").status_code == 409
    assert client.post(f"{uploads}/test").status_code == 409
    assert not Job.objects.exists()


@pytest.fixture
def uploads(workspace):
    """Return the upload source, with documents in two folders."""
    for number, path in enumerate(("a.md", "ops/b.md", "ops/logs/c.md", "ops/logs/d.md")):
        document = shelve(workspace, path, "Text.", source="uploads", title=f"Title {path}")
        dated_at = timezone.now() - timedelta(days=number)
        Document.objects.filter(pk=document.pk).update(dated_at=dated_at)
    return Source.objects.get(key="uploads")


def names_of(client, source, **query):
    """Return the folders with their numbers of documents, and the paths of the documents shown."""
    context = client.get(page_of(source), query).context
    folders = [(folder.path, folder.count) for folder in context["folders"]]
    return folders, [row.path for row in context["list"].rows]


def test_documents_are_shown_by_folder_found_by_name_and_sorted(visit, viewer, uploads):
    client = visit(viewer)

    assert names_of(client, uploads) == ([("ops/", 3)], ["a.md"])
    assert names_of(client, uploads, path="ops") == ([("ops/logs/", 2)], ["ops/b.md"])
    assert names_of(client, uploads, path="ops/logs/") == ([], ["ops/logs/c.md", "ops/logs/d.md"])
    found = ["ops/b.md", "ops/logs/c.md", "ops/logs/d.md"]
    assert names_of(client, uploads, q="OPS", order="date")[1] == found
    assert names_of(client, uploads, q="title a")[1] == ["a.md"]
    assert names_of(client, uploads, q="ops", path="ops/logs", order="nonsense")[1] == found[1:]


def test_numbers_in_names_of_folders_and_documents_are_sorted_as_numbers(visit, viewer, workspace):
    huge = "9" * 25
    for path in ("10.md", "2.md", f"{huge}.md", "Teil 9/a.md", "Teil 10/a.md", "b02.md", "b1.md"):
        shelve(workspace, path, "Text.", source="uploads")
    folders, documents = names_of(visit(viewer), Source.objects.get(key="uploads"))
    assert [path for path, _ in folders] == ["Teil 9/", "Teil 10/"]
    assert documents == ["2.md", "10.md", f"{huge}.md", "b1.md", "b02.md"]


def test_chosen_documents_are_deleted_once_that_is_confirmed(visit, editor, uploads, docs):
    client, address = visit(editor), f"{page_of(uploads)}/documents/delete"
    chosen = list(Document.objects.filter(path__startswith="ops/logs").values_list("doc_id", flat=True))
    page = markup_of(client.post(address, {"document": chosen}))
    assert 'name="confirmed"' in page
    assert Document.objects.count() == 4

    of_another = client.post(f"{page_of(docs)}/documents/delete", {"document": chosen, "confirmed": "1"})
    assert (of_another.status_code, Document.objects.count()) == (302, 4)
    assert client.post(address, {"document": ["x"], "confirmed": "1"}).status_code == 302
    client.post(address, {"document": chosen, "confirmed": "1"})
    assert set(Document.objects.values_list("path", flat=True)) == {"a.md", "ops/b.md"}
    assert AuditEvent.objects.filter(action="document.deleted").count() == 2


@pytest.mark.django_db(transaction=True)
def test_documents_of_a_synced_source_are_not_deleted(visit, editor, docs):
    client = visit(editor)
    sync_job(client, docs)
    assert "documents/delete" not in markup_of(client.get(page_of(docs)))
    form = {"document": [Document.objects.first().doc_id], "confirmed": "1"}
    assert client.post(f"{page_of(docs)}/documents/delete", form).status_code == 409
    assert Document.objects.exists()


def test_cursor_of_another_order_is_refused(visit, viewer, workspace, uploads):
    for number in range(60):
        shelve(workspace, f"n{number}.md", "Text.", source="uploads")
    client = visit(viewer)
    more = client.get(page_of(uploads)).context["list"].next_address
    assert client.get(f"{page_of(uploads)}{more}").status_code == 200
    assert client.get(f"{page_of(uploads)}{more}&order=date").status_code == 400
