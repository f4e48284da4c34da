"""A job on a full disk waits, reports the reason, and then ends normally.

A limit on the size of files refuses writes as a full disk does, also for who may mount nothing.
"""

import errno
import os

import psycopg
import pytest
from django.conf import settings as django_settings
from django.db import OperationalError
from django.db.models.functions import Now

from ingest.jobs.queue.lease import MAX_STALLED_ATTEMPTS
from ingest.jobs.queue.report import ingest_report
from ingest.jobs.queue.request import request_sync
from ingest.jobs.queue.run import outage_message
from ingest.models import Job, JobItem
from search.corpus.blobs import read_blob, store_blob
from search.models import Change, Document
from tests.integration.ingest.jobs.processes import run_job_in_process
from tests.support.jobs import counts, fill, indexed_texts, sync, work

ROOM_BYTES = 4_000
SMALL, LARGE = "# Small\n\nfits\n", "# Large\n\n" + "does not fit\n" * 1_000
WORKER = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]),) * 2)
run_job_task(sys.argv[2], sys.argv[3])
"""


def work_without_room(job):
    """Run the job in a process that can write no file above ROOM_BYTES."""
    assert run_job_in_process(job, str(ROOM_BYTES), script=WORKER) == 0
    return Job.objects.get(pk=job.pk)


def drafts(workspace):
    """Return the unfinished blobs."""
    return list((django_settings.KEBAB_DATA_DIR / "blobs" / str(workspace.pk)).rglob("*.tmp"))


@pytest.mark.slow
def test_job_waits_for_room_and_resumes_by_itself(workspace, folder, source):
    fill(folder, {"a.md": "# Old\n\nold words\n", "b.md": "# Stays\n\nas it is\n"})
    sync(source)
    before = Change.objects.count()
    fill(folder, {"a.md": LARGE, "c.md": SMALL})
    job = request_sync(source)

    waiting = work_without_room(job)
    assert (waiting.state, waiting.finished_at, waiting.error[:9]) == ("running", None, "Disk full")
    assert indexed_texts(workspace)["a.md"] == ["old words"]
    assert drafts(workspace) == []

    Job.objects.filter(pk=job.pk).update(due_at=Now())
    ended = work(job)
    assert (ended.state, ended.error) == ("succeeded", "")
    report = counts(ingest_report(ended)) | {"parser_calls": None}
    assert report == {"seen": 3, "new": 1, "updated": 1, "unchanged": 1, "parser_calls": None}
    assert Change.objects.count() == before + 2
    for document in Document.objects.in_workspace(workspace):
        assert read_blob(workspace.pk, document.content_hash) == (folder / document.path).read_bytes()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS])
def test_job_waits_while_no_blob_can_be_written(workspace, folder, source, monkeypatch, number):
    def refuse(descriptor):
        raise OSError(number, os.strerror(number), str(django_settings.KEBAB_DATA_DIR / "blobs" / "aa"))

    fill(folder, {"a.md": SMALL})
    job = request_sync(source)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", refuse)
        with pytest.raises(OSError, match=os.strerror(number)):
            store_blob(workspace.pk, b"some bytes")
        for _ in range(MAX_STALLED_ATTEMPTS + 2):
            Job.objects.update(due_at=Now())
            waiting = work(job)
    assert drafts(workspace) == []
    assert (waiting.state, waiting.attempt) == ("running", MAX_STALLED_ATTEMPTS + 2)
    assert waiting.error.startswith("Disk full" if number == errno.ENOSPC else "Disk locked")
    assert list(JobItem.objects.values_list("state", "attempts")) == [("pending", 0)]

    Job.objects.update(due_at=Now())
    ended = work(job)
    assert (ended.state, ended.error, indexed_texts(workspace)) == ("succeeded", "", {"a.md": ["fits"]})


def test_full_disk_of_postgres_is_distinguished_from_other_failures():
    def message_for(cause):
        try:
            raise OperationalError("as Django wraps it") from cause
        except OperationalError as error:
            return outage_message(error)

    assert message_for(psycopg.errors.DiskFull("could not extend file")) is not None
    assert message_for(psycopg.errors.AdminShutdown("terminating connection")) is None


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_unwritable_blob_is_distinguished_from_an_unreadable_file(folder, number):
    blob = django_settings.KEBAB_DATA_DIR / "blobs" / "aa" / "aabb"
    message = outage_message(OSError(number, "refused", str(blob)))
    assert (message[:11], str(blob) in message) == ("Disk locked", True)
    for not_a_blob in (str(folder / "a.md"), None):
        assert outage_message(OSError(number, "refused", not_a_blob)) is None
