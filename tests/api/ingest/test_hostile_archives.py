"""Every hostile file and archive as an upload over HTTP: ingested, or refused with a reason."""

import os

import pytest

from ingest.models import Job
from tests.api.archives import post_archive, report_of
from tests.api.refusals import refusal_of
from tests.security.hostile_files.corpus import ARCHIVES, BAD
from tests.support.api import address, run

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


def test_hostile_archive_is_refused_or_becomes_a_job_that_ends(client, workspace, subtests):
    for number, (name, (make, end)) in enumerate(ARCHIVES.items()):
        with subtests.test(name):
            before = Job.objects.count()
            answer = post_archive(client, workspace, make(), name, source=f"n{number}")
            if end in ("succeeded", "failed"):
                assert answer.status_code == 202, answer.content
                job = run(workspace, answer)
                assert (job.state, bool(job.error)) == (end, end == "failed")
                report = report_of(client, workspace, job)
                assert report["seen"] == report["new"] + report["skipped"]
            else:
                assert refusal_of(answer) == (422, end, None)
                assert Job.objects.count() == before


def test_no_bad_file_breaks_the_server(client, workspace, subtests):
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n\r\n'
    for path, (make, _) in BAD.items():
        with subtests.test(ascii(path)):
            body = head % os.fsencode(path.rpartition("/")[2]) + make() + b"\r\n--x--\r\n"
            answer = client.generic(
                "POST", address(workspace, "/documents"), body, content_type="multipart/form-data; boundary=x"
            )
            assert answer.status_code in (202, 400, 422), answer.content
            assert answer.status_code == 202 or answer.json()["detail"]
