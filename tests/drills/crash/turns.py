"""Scene: one workspace requests thousands of documents, then another one document, which must not wait long.

The wait is measured in jobs, not in seconds: those running at the request, those that begin until it is
committed, those whose hints are in Redis by then, and one more for each slot.
"""

from collections.abc import Iterator

from django.conf import settings

from ingest.models import OPEN_STATES, Job
from tests.drills.crash.corpus import Corpus
from tests.drills.crash.tenant import Tenant
from tests.support.patience import patiently
from tests.support.stack import Stack, eventually

#: Folders of the large workspace, a sync each.
FOLDERS = 24
_LIMIT_S = 300.0
_MARKER = "marker999999"


def take_turns(stack: Stack, corpus: Corpus) -> Iterator[str]:
    """Play the scene, and yield the violations. Raises GaveUp."""
    large = Tenant(stack.url, "large", corpus.folders)
    small = Tenant(stack.url, "small", [])
    eventually(lambda: patiently(small.is_searchable), "the small workspace is searchable")
    syncs = large.request_syncs()
    ours = Job.objects.filter(pk__in=[job.pk for job in syncs])
    eventually(lambda: ours.exclude(started_at=None).exists(), "the first sync runs", _LIMIT_S, poll_s=0.01)
    answer = small.upload("one.md", f"# One\n\n{_MARKER}\n")
    answer.raise_for_status()
    eventually(lambda: _is_found(small), "the one document is searchable", _LIMIT_S, poll_s=0.01)
    n_open = ours.filter(state__in=OPEN_STATES).count()
    upload = Job.objects.get(pk=answer.json()["job"]["id"])
    n_before = ours.filter(started_at__gt=upload.created_at, started_at__lt=upload.started_at).count()
    most = 4 * settings.KEBAB_WORKER_SLOTS
    if n_before > most:
        yield f"{n_before} syncs of the large workspace began before the one document, at most {most} may"
    if not n_open:
        yield "the one document was searchable only when all of the large workspace was"
    eventually(lambda: not patiently(large.has_open_jobs), "the large workspace is done", _LIMIT_S)


def _is_found(tenant: Tenant) -> bool:
    answer = patiently(lambda: tenant.search(_MARKER, mode="lexical"))
    return answer.status_code == 200 and bool(answer.json()["hits"])
