"""Uploads through the form without JavaScript."""

import html
import io
import json
import re
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils.translation import gettext, override

from ingest.models import Job
from ingest.skip_messages import explanations
from kebab.identity.models import Group, User
from search.access.restrictions import restrict
from search.corpus import ensure_source
from search.models import Document, Source
from tests.pages.page_text import markup_of
from tests.support.jobs import work

PAGE = "/w/handbook/upload"


def a_file(name="a.md", content=b"# Alpha\n\nfirst\n"):
    return SimpleUploadedFile(name, content)


def send(client, *files, **fields):
    return client.post(PAGE, {"file": list(files), **fields})


def offered_sources(page):
    return re.findall(r'<option value="([^"]*)">', page)


def chosen_source(page):
    return re.search(r'<input id="source" [^>]* value="([^"]*)"', page)[1]


@pytest.mark.django_db(transaction=True)
def test_uploaded_file_leads_to_its_job_even_when_large(visit, editor):
    client = visit(editor)
    answer = send(client, a_file(), folder="/guide/")
    job = Job.objects.get(kind="ingest_document")
    work(job)

    assert answer["Location"] == f"/w/handbook/activity/{job.pk}"
    assert Document.objects.get().path == "guide/a.md"
    assert send(client, a_file("large.txt", b"ebb tide\n" * 123_000)).status_code == 302


@pytest.mark.django_db(transaction=True)
def test_refused_files_of_several_are_named_and_archives_unpacked(visit, editor):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("x.md", "# X")
    client = visit(editor)
    files = (a_file(), a_file("b.md"), a_file("c.7z"), a_file("docs.zip", packed.getvalue()))
    answer = send(client, *files, source="notes")

    first = Job.objects.get(batch=None)
    assert answer["Location"] == f"/w/handbook/activity/{first.pk}"
    assert Job.objects.filter(batch=first.pk).count() == 2
    assert {job.payload["path"] for job in Job.objects.filter(kind="ingest_document")} == {"a.md", "b.md"}
    assert Job.objects.filter(kind="ingest_archive").count() == 1
    assert {job.source.key for job in Job.objects.all()} == {"notes"}
    messages = sorted(str(message) for message in client.get(answer["Location"]).context["messages"])
    assert [message.partition(" ")[0] for message in messages] == ["c.7z:"]


def test_form_without_a_file_or_with_too_large_ones_is_refused(visit, editor, settings):
    assert send(visit(editor)).status_code == 400
    settings.KEBAB_UPLOAD_LIMIT_BYTES = 1_000
    answer = send(visit(editor), a_file(content=b"x" * 600), a_file("b.md", b"x" * 600))

    assert "1000 bytes" in markup_of(answer, status=413)
    assert 'data-limit="1000"' in markup_of(visit(editor).get(PAGE))
    assert not Job.objects.exists()


class Unread(io.BytesIO):
    """A body that may not be read."""

    def read(self, *_):
        raise AssertionError("the body was read")

    readline = read


def test_body_of_an_unauthorised_upload_is_never_read(client, workspace, viewer, editor, settings):
    stranger = User.objects.create_user("stan@example.org")
    settings.KEBAB_UPLOAD_LIMIT_BYTES = settings.KEBAB_ARCHIVE_LIMIT_BYTES = 100_000
    for person, status in ((None, 302), (stranger, 404), (viewer, 403), (editor, 413)):
        if person:
            client.force_login(person)
        answer = client.post(PAGE, {"file": a_file(content=b"x" * 1_200_000)}, **{"wsgi.input": Unread()})
        assert answer.status_code == status


def test_upload_page_offers_only_readable_upload_sources(visit, editor, workspace):
    ensure_source(workspace, "notes", kind="upload")
    ensure_source(workspace, "docs", kind="folder", config={"path": "/d"})
    closed = ensure_source(workspace, "salaries", kind="upload")
    restrict(closed, [Group.objects.create(workspace=workspace, name="Board").pk])
    page = markup_of(visit(editor).get(PAGE, {"source": "notes"}))

    assert (chosen_source(page), offered_sources(page)) == ("notes", ["uploads", "notes"])
    assert "salaries" not in page
    Source.objects.bulk_create(
        Source(workspace=workspace, key=f"area-{number:03}", kind="upload", library_id=f"/a/{number}")
        for number in range(210)
    )
    page = markup_of(visit(editor).get(PAGE, {"source": "area-209"}))
    assert (chosen_source(page), len(offered_sources(page))) == ("area-209", 201)


def test_default_source_is_not_offered_when_it_refuses_uploads(visit, editor, workspace):
    taken = ensure_source(workspace, "uploads", kind="upload")
    restrict(taken, [Group.objects.create(workspace=workspace, name="Board").pk])
    client = visit(editor)
    assert (chosen_source(markup_of(client.get(PAGE))), offered_sources(markup_of(client.get(PAGE)))) == (
        "",
        [],
    )
    taken.delete()
    ensure_source(workspace, "uploads", kind="folder", config={"path": "/d"})
    assert (chosen_source(markup_of(client.get(PAGE))), offered_sources(markup_of(client.get(PAGE)))) == (
        "",
        [],
    )
    ensure_source(workspace, "notes", kind="upload")
    page = markup_of(client.get(PAGE))

    assert (chosen_source(page), offered_sources(page)) == ("notes", ["notes"])


def test_script_says_reasons_in_the_language_of_the_reader(visit, editor):
    answer = visit(editor).get(PAGE, headers={"Accept-Language": "de"})
    words = json.loads(html.unescape(re.search('data-words="([^"]+)"', markup_of(answer))[1]))

    with override("de"):
        assert words["reason-encrypted"] == gettext(explanations(["encrypted"])["encrypted"])
    assert words["reason-encrypted"] != explanations(["encrypted"])["encrypted"]
