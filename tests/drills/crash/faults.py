"""Scene: syncs of some hundred changed files, each with one fault in the middle.

During a fault, documents that the sync doesn't change are found. After it, the sync ends as if there had been
no fault: every document once with its present content, every change logged once, a consistent report.
"""

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

import redis
from django.conf import settings

from ingest.jobs.queue.request import cancel
from ingest.models import Job, JobState
from kebab.identity.models import Workspace
from kebab.stack.servers.addresses import redis_client_url
from tests.drills.crash import invariants
from tests.drills.crash.corpus import Corpus
from tests.drills.crash.tenant import Tenant
from tests.drills.crash.victims import worker_family
from tests.drills.crash.volumes import Disk
from tests.support.patience import patiently
from tests.support.stack import GaveUp, Stack, eventually

#: Faults of processes and servers; those of disks need volumes.
FAULTS = ("cancel", "kill", "flush", "restart", "listing")
#: Prefix of a disk fault; the disk's name follows.
FULL_DISK = "full disk of "
_LIMIT_S = 120.0
_FOLDER = "folder-0"


class Faults:
    """One workspace that goes through all faults, each in a sync of its own."""

    def __init__(self, stack: Stack, corpus: Corpus, disks: Mapping[str, Disk], slug: str) -> None:
        self._stack = stack
        self._corpus = corpus
        self._disks = disks
        self._tenant = Tenant(stack.url, slug, corpus.folders)
        self._probing = Tenant(stack.url, f"{slug}-probing", [])
        self._faults: dict[str, Callable[[Job], Iterator[str]]] = {
            "cancel": self._cancel,
            "kill": self._kill,
            "flush": self._flush,
            "restart": self._restart,
            "listing": self._listing,
        }

    def ingest(self) -> None:
        """Ingest the corpus without faults. Raises GaveUp."""
        eventually(lambda: patiently(self._tenant.is_searchable), "the workspace is searchable")
        self._tenant.request_syncs()
        self._settle()

    def play(self, name: str) -> Iterator[str]:
        """Change files, sync with the fault in the middle, and yield the violations. Raises GaveUp."""
        since_seq = self._head_seq()
        before = dict(self._corpus.files)
        self._corpus.rewrite()
        (job,) = self._tenant.request_syncs()
        eventually(lambda: _is_midway(job), "the sync is under way", _LIMIT_S, poll_s=0.005)
        disk = name.removeprefix(FULL_DISK)
        yield from self._fill(disk, job) if disk in self._disks else self._faults[name](job)
        yield from self._await_outcome(job, name, before, since_seq)

    def _await_outcome(self, job: Job, name: str, before: Mapping[str, str], since_seq: int) -> Iterator[str]:
        eventually(lambda: _refresh(job).is_finished, f"the sync ends after: {name}", _LIMIT_S)
        expected_state = JobState.CANCELLED if name == "cancel" else JobState.SUCCEEDED
        yield from invariants.job_ended_with_report(_refresh(job), expected_state)
        if name == "cancel":
            yield from self._partial_result(job, before)
            (job,) = self._tenant.request_syncs()
        self._settle()
        yield from invariants.job_ended_with_report(_refresh(job), JobState.SUCCEEDED)
        files = self._tenant.files_by_source(self._corpus.files)
        yield from invariants.documents_equal_what_was_given(self._tenant, files)
        yield from invariants.chunks_are_numbered(self._tenant)
        yield from invariants.every_chunk_has_its_vector(self._tenant)
        yield from invariants.blobs_are_whole(self._tenant)
        changed = invariants.changed_paths(before, self._corpus.files)
        yield from invariants.changes_are_logged_once(
            self._tenant, since_seq, {path.split("/", 1)[1] for path in changed}
        )
        yield from invariants.log_is_without_holes(self._tenant)
        yield from invariants.all_is_found(self._tenant, files)

    def _cancel(self, job: Job) -> Iterator[str]:
        cancel(_refresh(job))
        eventually(lambda: _refresh(job).is_finished, "the cancelled sync ends", _LIMIT_S)
        if _refresh(job).items_done == _refresh(job).items_total:
            raise RuntimeError("The sync was done before it was cancelled; give it more documents.")
        yield from self._missing_documents()

    def _partial_result(self, job: Job, before: Mapping[str, str]) -> Iterator[str]:
        """Check that after a cancelled job each document is in its old or new state, and the counts agree."""
        files = self._tenant.files_by_source(self._corpus.files)
        mixed, n_changed = invariants.partial_changes(
            self._tenant, self._tenant.files_by_source(before), files
        )
        yield from mixed
        if n_changed != _refresh(job).items_done:
            yield f"the cancelled sync says {_refresh(job).items_done} items, {n_changed} documents changed"

    def _kill(self, job: Job) -> Iterator[str]:
        for pid in worker_family(self._stack):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        yield from self._missing_documents()
        eventually(lambda: _refresh(job).is_finished, "the sync of the killed worker ends", _LIMIT_S)
        if _refresh(job).attempt < 2:
            raise RuntimeError("The sync was done before its worker was killed; give it more documents.")

    def _flush(self, job: Job) -> Iterator[str]:
        behind = self._tenant.request_syncs()[0]
        with redis.Redis.from_url(redis_client_url(settings.REDIS_URL), socket_timeout=5) as client:
            client.flushall()
        yield from self._missing_documents()
        eventually(lambda: _refresh(behind).is_finished, "the sync whose hint was flushed ends", _LIMIT_S)
        yield from invariants.job_ended_with_report(_refresh(behind), JobState.SUCCEEDED)

    def _restart(self, job: Job) -> Iterator[str]:
        """Restart Postgres, and check that searches work once it is back."""
        postgres = self._stack.pids()["postgres"]
        os.kill(postgres, signal.SIGINT)
        eventually(
            lambda: self._stack.pids().get("postgres", postgres) != postgres, "Postgres is back", _LIMIT_S
        )
        # Each broken pooled connection is detected by a search that is rejected with 503.
        eventually(lambda: not list(self._missing_documents()), "searches are answered as before")
        return iter(())

    def _listing(self, job: Job) -> Iterator[str]:
        """Make the folder unlistable: the sync fails as a whole and deletes nothing."""
        eventually(lambda: _refresh(job).is_finished, "the sync before ends", _LIMIT_S)
        folder = self._tenant.folders[_FOLDER]
        away = folder.rename(folder.with_name("away"))
        try:
            (failing,) = self._tenant.request_syncs()
            eventually(lambda: _refresh(failing).is_finished, "the sync without a folder ends", _LIMIT_S)
        finally:
            away.rename(folder)
        if _refresh(failing).state != JobState.FAILED or "Sync failed" not in _refresh(failing).error:
            yield f"the sync without a folder is {_refresh(failing).state}: {_refresh(failing).error}"
        yield from self._missing_documents()

    def _fill(self, name: str, job: Job) -> Iterator[str]:
        # Blobs first: the other disk takes longer to fill than the sync may last.
        full = [*self._disks.values()][::-1] if name == "data" else [self._disks[name]]
        complaints = self._complaints()
        for disk in full:
            disk.fill()
        try:
            is_felt = {
                "data": self._upload_is_refused,  # Postgres may have no room for a job's error
                "blobs": lambda: _refresh(job).error.startswith(
                    "Disk full: files of documents can't be written"
                ),
                "mirrors": lambda: self._complaints() > complaints,
            }
            eventually(is_felt[name], f"the full disk of {name} is felt", _LIMIT_S)
            yield from self._missing_documents(must_answer=name != "data")
        finally:
            for disk in full:
                disk.free()

    def _upload_is_refused(self) -> bool:
        # Into another workspace; an upload may succeed at first, or in space freed by an abandoned write.
        return patiently(lambda: self._probing.upload("probe.md", "# Probe\n")).status_code == 503

    def _complaints(self) -> int:
        return self._stack.log("upkeep", 10_000).count("can't be written")

    def _missing_documents(self, *, must_answer: bool = True) -> Iterator[str]:
        """Yield the documents untouched by the sync that an answered search doesn't find."""
        for path, marker in self._corpus.steady.items():
            answer = patiently(lambda marker=marker: self._tenant.search(marker, mode="lexical"))
            if answer.status_code == 200:
                paths = {hit["doc_path"] for hit in answer.json()["hits"]}
                if path.split("/", 1)[1] not in paths:
                    yield f"{marker} of {path} is not found meanwhile"
            elif must_answer:
                yield f"a search meanwhile is answered with {answer.status_code}: {answer.text[:200]}"

    def _settle(self) -> None:
        eventually(lambda: not patiently(self._tenant.has_open_jobs), "all jobs come to their ends", _LIMIT_S)
        eventually(lambda: patiently(self._tenant.is_searchable), "all that was ingested is searchable")

    def _head_seq(self) -> int:
        rows = Workspace.objects.filter(pk=self._tenant.workspace.pk)
        return patiently(lambda: rows.values_list("head_seq", flat=True).get())


def _refresh(job: Job) -> Job:
    return patiently(lambda: Job.objects.get(pk=job.pk))


def _is_midway(job: Job) -> bool:
    now = _refresh(job)
    if now.is_finished:
        raise GaveUp("The sync ended before it was looked at; give it more documents.")
    return bool(0 < now.items_done < now.items_total)
