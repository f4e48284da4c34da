"""Hostile files and archives as uploads over HTTP: each is taken, or refused in words."""

import os

import pytest

from ingest.models import Job
from search.models import Document
from tests.api.test_archive_uploads import post_archive, report_of
from tests.security.hostile_files.corpus import ARCHIVES, BAD
from tests.support.api import address, run

pytestmark = pytest.mark.django_db(transaction=True)


def job_of(workspace, answer):
    """The job that an answer names, run to its end."""
    assert answer.status_code == 202, answer.content
    return run(workspace, answer)


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_is_refused_or_becomes_a_job_that_ends(client, workspace, name):
    make, end = ARCHIVES[name]
    answer = post_archive(client, workspace, make(), name)
    if end in ("succeeded", "failed"):
        job = job_of(workspace, answer)
        assert job.state == end
        assert bool(job.error) == (end == "failed")
        report = report_of(client, workspace, job)
        assert report["seen"] == report["new"] + report["skipped"]
    else:
        assert (answer.status_code, answer.json()["code"]) == (422, end)
        assert len(answer.json()["detail"].split()) > 4
        assert not Job.objects.exists()


@pytest.mark.parametrize("name", ["nothing.zip", "nothing.tar", "nothing.docx"])
def test_a_file_without_a_byte_is_a_bad_request(client, workspace, name):
    answer = post_archive(client, workspace, b"", name)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "file")


@pytest.mark.parametrize(
    ("name", "skipped"),
    [
        (
            "hostile.zip",
            {
                "nested_archive": 1,
                "empty": 1,
                "no_parser": 1,
                "path_outside": 1,
                "control_character_in_name": 2,
            },
        ),
        (
            "hostile.tar",
            {"path_too_long": 1, "undecodable_name": 1, "link": 4, "special_file": 2, "path_outside": 2}
            | {"control_character_in_name": 1},
        ),
    ],
)
def test_of_a_hostile_archive_the_good_pages_are_taken(client, workspace, name, skipped):
    job = job_of(workspace, post_archive(client, workspace, ARCHIVES[name][0](), name, path="a"))
    assert job.counts["skipped"] == {**skipped, "absolute_path": 1, "backslash_in_path": 1}
    assert set(Document.objects.values_list("path", flat=True)) == {"a/good.md", "a/" + "n" * 300 + ".md"}


def form(name, content):
    """A form whose file has a name of any bytes."""
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n\r\n' % os.fsencode(name)
    return head + content + b"\r\n--x--\r\n"


def test_no_bad_file_breaks_the_server(client, workspace):
    for path, (make, _) in BAD.items():
        body = form(path.rpartition("/")[2], make())
        answer = client.generic(
            "POST", address(workspace, "/documents"), body, content_type="multipart/form-data; boundary=x"
        )
        assert answer.status_code in (202, 400, 422), (path, answer.content)
        if answer.status_code != 202:
            assert answer.json()["detail"], path
