"""Files put in on the page: in one form without JavaScript, one by one with it."""

import io
import re
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from playwright.sync_api import expect

from ingest.models import Job
from kebab.people.models import Group, User
from search.corpus import ensure_source
from search.models import Document, Source
from search.readers import restrict
from tests.support.browsing import needs_browser
from tests.support.jobs import PICTURE, work

PAGE = "/w/handbook/upload"


def _in_browser(test):
    for mark in needs_browser:
        test = mark(test)
    return test


def a_file(name="a.md", content=b"# Alpha\n\nfirst\n"):
    return SimpleUploadedFile(name, content)


def send(client, *files, **fields):
    return client.post(PAGE, {"file": list(files), **fields})


def text_of(response):
    return " ".join(response.content.decode().split())


def offered(page):
    return re.findall(r'<option value="([^"]*)">', page)


def chosen(page):
    return re.search(r'<input id="source" [^>]* value="([^"]*)"', page)[1]


def told(client, answer):
    return [str(message) for message in client.get(answer["Location"]).context["messages"]]


@pytest.mark.django_db(transaction=True)
def test_a_file_is_taken_in_and_its_job_shown(visit, editor):
    answer = send(visit(editor), a_file(), folder="/guide/")
    job = Job.objects.get(kind="ingest_document")
    work(job)

    assert answer["Location"] == f"/w/handbook/jobs/{job.pk}"
    assert Document.objects.get().path == "guide/a.md"


@pytest.mark.django_db(transaction=True)
def test_of_several_files_those_that_are_refused_are_named(visit, editor):
    client = visit(editor)
    answer = send(client, a_file(), a_file("b.md"), a_file("c#.md"), source="notes")

    assert answer["Location"] == "/w/handbook/jobs"
    assert {job.payload["path"] for job in Job.objects.filter(kind="ingest_document")} == {"a.md", "b.md"}
    assert {job.source.key for job in Job.objects.all()} == {"notes"}
    (refused, taken) = sorted(told(client, answer), reverse=True)
    assert refused.startswith("c#.md: ")
    assert taken.startswith("2 ")


@pytest.mark.django_db(transaction=True)
def test_an_archive_is_unpacked_by_its_job(visit, editor):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("x.md", "# X")
    send(visit(editor), a_file("docs.zip", packed.getvalue()))

    assert Job.objects.get().kind == "ingest_archive"


def test_form_without_a_file_or_with_too_large_ones_is_refused(visit, editor, settings):
    assert send(visit(editor)).status_code == 400
    settings.KEBAB_UPLOAD_LIMIT_BYTES = 1_000
    answer = send(visit(editor), a_file(content=b"x" * 600), a_file("b.md", b"x" * 600))

    assert answer.status_code == 413
    assert "1000 bytes" in text_of(answer)
    assert 'data-limit="1000"' in text_of(visit(editor).get(PAGE))
    assert not Job.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_what_is_more_than_another_form_may_have_is_taken_in(visit, editor):
    answer = send(visit(editor), a_file("large.txt", b"ebb tide\n" * 123_000))

    assert answer.status_code == 302
    assert Job.objects.get(kind="ingest_document").payload["path"] == "large.txt"


class Unread(io.BytesIO):
    """A body that may not be read."""

    def read(self, *_):
        raise AssertionError("the body was read")

    readline = read


def test_what_is_sent_by_whom_it_is_not_allowed_is_never_read(client, workspace, viewer, editor, settings):
    stranger = User.objects.create_user("stan@example.org")
    settings.KEBAB_UPLOAD_LIMIT_BYTES = settings.KEBAB_ARCHIVE_LIMIT_BYTES = 100_000
    for person, status in ((None, 302), (stranger, 404), (viewer, 403), (editor, 413)):
        if person:
            client.force_login(person)
        answer = client.post(PAGE, {"file": a_file(content=b"x" * 1_200_000)}, **{"wsgi.input": Unread()})
        assert answer.status_code == status


def test_the_upload_sources_that_one_may_know_of_are_offered(visit, editor, workspace):
    ensure_source(workspace, "notes", kind="upload")
    ensure_source(workspace, "docs", kind="folder", config={"path": "/d"})
    closed = ensure_source(workspace, "salaries", kind="upload")
    restrict(closed, [Group.objects.create(workspace=workspace, name="Board").pk])
    page = text_of(visit(editor).get(PAGE, {"source": "notes"}))

    assert 'name="source" type="text" list="sources" value="notes"' in page
    assert offered(page) == ["uploads", "notes"]
    assert "salaries" not in page


def test_the_source_that_is_asked_for_is_the_one_that_is_named_however_many_there_are(
    visit, editor, workspace
):
    Source.objects.bulk_create(
        Source(workspace=workspace, key=f"area-{number:03}", kind="upload", library_id=f"/a/{number}")
        for number in range(210)
    )
    page = text_of(visit(editor).get(PAGE, {"source": "area-209"}))

    assert chosen(page) == "area-209"
    assert len(offered(page)) == 201


def test_usual_source_is_not_offered_where_it_takes_no_uploads(visit, editor, workspace):
    taken = ensure_source(workspace, "uploads", kind="upload")
    restrict(taken, [Group.objects.create(workspace=workspace, name="Board").pk])
    client = visit(editor)
    assert (chosen(text_of(client.get(PAGE))), offered(text_of(client.get(PAGE)))) == ("", [])
    taken.delete()
    ensure_source(workspace, "uploads", kind="folder", config={"path": "/d"})
    assert (chosen(text_of(client.get(PAGE))), offered(text_of(client.get(PAGE)))) == ("", [])
    ensure_source(workspace, "notes", kind="upload")
    page = text_of(client.get(PAGE))

    assert (chosen(page), offered(page)) == ("notes", ["notes"])


@_in_browser
def test_each_files_end_is_told_with_its_reason(open_page, editor, worker):
    page = open_page(editor)
    page.goto(PAGE)
    page.locator("#file").set_input_files(
        [
            {"name": "a.md", "mimeType": "text/markdown", "buffer": b"# Alpha\n\nfirst\n"},
            {"name": "picture.psd", "mimeType": "image/x", "buffer": PICTURE},
        ]
    )
    rows = page.locator("[data-list] > li")

    expect(page.locator("[data-summary]")).to_have_text("1 of 2 searchable, 1 refused.")
    expect(rows.nth(0)).to_contain_text("searchable")
    expect(rows.nth(1)).to_contain_text("No parser reads files of this kind.")


@_in_browser
def test_a_file_over_the_limit_is_never_sent(open_page, transactional_db, editor, settings):
    settings.KEBAB_UPLOAD_LIMIT_BYTES = 10
    page = open_page(editor)
    page.goto(PAGE)
    page.locator("#file").set_input_files(
        {"name": "a.md", "mimeType": "text/markdown", "buffer": b"# Alpha\n\nfirst\n"}
    )

    expect(page.locator("[data-list]")).to_contain_text("more than the limit")
    assert not Job.objects.exists()


@_in_browser
def test_the_plain_form_uploads_without_javascript(open_page, transactional_db, editor):
    page = open_page(editor, java_script_enabled=False)
    page.goto(PAGE)
    page.locator("#file").set_input_files(
        {"name": "a.md", "mimeType": "text/markdown", "buffer": b"# Alpha\n\nfirst\n"}
    )
    page.get_by_role("button", name="Upload").click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("Upload into uploads")
