"""A disk that is full in the middle of a job: it waits, says why, and ends as if nothing had been.

A limit on the size of files refuses writes as a full disk does, also for who may mount nothing.
"""

import errno
import os
import subprocess
import sys

import psycopg
import pytest
from django.conf import settings as django_settings
from django.db import OperationalError, connection
from django.db.models.functions import Now

from ingest.jobs.full_disk import full_disk
from ingest.jobs.lease import MAX_STALLED_ATTEMPTS
from ingest.jobs.report import ingest_report
from ingest.jobs.request import request_sync
from ingest.models import Job, JobItem
from search.blobs import keep_blob, read_blob
from search.models import Change, Document
from tests.support.jobs import fill, indexed, sync, work

ROOM_BYTES = 4_000
SMALL, LARGE = "# Small\n\nfits\n", "# Large\n\n" + "does not fit\n" * 1_000
WORKER = """
import resource, sys, django
django.setup()
from django.db import connection
connection.settings_dict["NAME"] = sys.argv[1]
from django.utils import timezone
from ingest.models import Job
from ingest.tasks import run_job_task
from kebab.tenancy.acting import acting_everywhere
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]),) * 2)
for _ in range(int(sys.argv[5])):
    with acting_everywhere():
        Job.objects.update(due_at=timezone.now())
    run_job_task(sys.argv[2], sys.argv[3])
"""


def work_without_room(job, *, times=1):
    """Work on the job so often, in a process that can write no file above ROOM_BYTES."""
    database = connection.settings_dict["NAME"]
    numbers = (str(ROOM_BYTES), str(times))
    arguments = [sys.executable, "-c", WORKER, database, str(job.workspace_id), str(job.pk), *numbers]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "kebab.settings"}
    done = subprocess.run(
        arguments, env=environment, cwd=django_settings.BASE_DIR, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return Job.objects.get(pk=job.pk)


def drafts(workspace):
    """Give the unfinished blobs that lie about."""
    return list((django_settings.KEBAB_DATA_DIR / "blobs" / str(workspace.pk)).rglob("*.tmp"))


def test_a_job_waits_for_room_and_then_goes_on_by_itself(workspace, folder, source):
    fill(folder, {"a.md": "# Old\n\nold words\n", "b.md": "# Stays\n\nas it is\n"})
    sync(source)
    before = Change.objects.count()
    fill(folder, {"a.md": LARGE, "c.md": SMALL})
    job = request_sync(source)

    waiting = work_without_room(job)
    assert (waiting.state, waiting.finished_at) == ("running", None)
    assert waiting.error.startswith("Disk full: files of documents can't be written")
    assert indexed(workspace)["a.md"] == ["old words"]
    assert drafts(workspace) == []

    Job.objects.filter(pk=job.pk).update(due_at=Now())
    ended = work(job)
    assert (ended.state, ended.error) == ("succeeded", "")
    report = ingest_report(ended)
    assert {name: report[name] for name in ("seen", "new", "updated", "unchanged", "failed")} == {
        "seen": 3,
        "new": 1,
        "updated": 1,
        "unchanged": 1,
        "failed": 0,
    }
    assert Change.objects.count() == before + 2
    for document in Document.objects.in_workspace(workspace):
        assert read_blob(workspace.pk, document.content_hash) == (folder / document.path).read_bytes()


def test_however_long_the_disk_is_full_nothing_is_given_up(workspace, folder, source):
    fill(folder, {"a.md": LARGE})
    job = request_sync(source)
    waiting = work_without_room(job, times=MAX_STALLED_ATTEMPTS + 2)
    assert (waiting.state, waiting.error[:9]) == ("running", "Disk full")
    assert waiting.attempt == MAX_STALLED_ATTEMPTS + 2
    assert list(JobItem.objects.values_list("state", "attempts")) == [("pending", 0)]
    Job.objects.update(due_at=Now())
    assert work(job).state == "succeeded"


def test_a_blob_that_found_no_room_leaves_none_taken(workspace, monkeypatch):
    def no_room(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", no_room)
    with pytest.raises(OSError, match="No space left"):
        keep_blob(workspace.pk, b"some bytes")
    assert drafts(workspace) == []


def test_a_full_disk_of_postgres_is_told_apart_from_its_other_failures():
    def failed(cause):
        try:
            raise OperationalError("as Django wraps it") from cause
        except OperationalError as error:
            return full_disk(error)

    assert failed(psycopg.errors.DiskFull("could not extend file")) is not None
    assert failed(psycopg.errors.AdminShutdown("terminating connection")) is None


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_a_blob_that_may_not_be_written_is_told_apart_from_a_file_that_may_not_be_read(folder, number):
    blob = django_settings.KEBAB_DATA_DIR / "blobs" / "aa" / "aabb"
    said = full_disk(OSError(number, "refused", str(blob)))
    assert (said[:11], str(blob) in said) == ("Disk locked", True)
    for not_a_blob in (str(folder / "a.md"), None):
        assert full_disk(OSError(number, "refused", not_a_blob)) is None


def test_a_job_waits_while_blobs_may_not_be_written_and_then_goes_on(workspace, folder, source, settings):
    fill(folder, {"a.md": SMALL})
    job = request_sync(source)
    writable = settings.STORAGES
    # Where nobody makes a folder, not even root.
    refusing = {**writable["default"], "OPTIONS": {"location": "/sys/kebab"}}
    settings.STORAGES = {**writable, "default": refusing}
    for _ in range(MAX_STALLED_ATTEMPTS + 2):
        Job.objects.update(due_at=Now())
        waiting = work(job)
    assert (waiting.state, waiting.attempt) == ("running", MAX_STALLED_ATTEMPTS + 2)
    assert waiting.error.startswith("Disk locked: files of documents can't be written")
    assert list(JobItem.objects.values_list("state", "attempts")) == [("pending", 0)]

    settings.STORAGES = writable
    Job.objects.update(due_at=Now())
    ended = work(job)
    assert (ended.state, ended.error, indexed(workspace)) == ("succeeded", "", {"a.md": ["fits"]})
