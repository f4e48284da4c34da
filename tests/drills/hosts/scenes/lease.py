"""Scene: node a's worker is cut off in the middle of a document, and node b's takes the job over."""

import contextlib
import time
from collections.abc import Iterator, Sequence

import psutil

from tests.drills.hosts.crowd import hold
from tests.drills.hosts.lab import Lab
from tests.drills.hosts.lab_setup import LEASE_S
from tests.drills.hosts.scenes.claims import claim_recovery
from tests.support.stack import eventually

_PARAGRAPHS = 40_000
_LIMIT_S = 60.0
_SETTLED_S = 3.0
_JOB = "SELECT state, attempt, finished_at, items_done FROM ingest_job WHERE payload->>'path' = %s"
_BEGUN = """
SELECT 1 FROM ingest_jobitem i JOIN ingest_job j ON j.id = i.job_id AND j.workspace_id = i.workspace_id
WHERE i.path = %s AND i.attempts >= 1 AND j.state = 'running'
"""
_DOCUMENT = "SELECT indexed_at, size_bytes FROM search_document WHERE path = %s"
_CHANGES = """
SELECT count(*) FROM search_change c
JOIN search_document d ON d.workspace_id = c.workspace_id AND d.doc_id = c.doc_id WHERE d.path = %s
"""


def lease(lab: Lab) -> None:
    """Take a job over from a worker that is only cut off, then from one that is paused, too."""
    _take_over(lab, "long/cut.md", is_frozen=False)
    _take_over(lab, "long/frozen.md", is_frozen=True)


def _take_over(lab: Lab, path: str, *, is_frozen: bool) -> None:
    with contextlib.ExitStack() as thaw:
        with _pause(lab.b.workers()):
            accepted = lab.client(lab.a).ask("upload", path=path, text=_long_text(path))
            lab.record([accepted])
            eventually(lambda: lab.rows(_BEGUN, path), "a's worker has begun", _LIMIT_S, poll_s=0.01)
            if is_frozen:
                thaw.enter_context(_pause(lab.a.workers()))
            lab.cut()
            began_s = time.monotonic()
            in_time = lab.rows(_DOCUMENT, path) == []
        eventually(lambda: _job(lab, path)[0] == "succeeded", "b's worker ends the job", _LIMIT_S)
        took_s = time.monotonic() - began_s
        ended = (_job(lab, path), lab.rows(_DOCUMENT, path))
        lab.heal()
        healed_s = time.monotonic()
    claim_recovery(lab, lab.a, healed_s)
    hold(_SETTLED_S)  # for a late write, which must not happen
    kind = "frozen" if is_frozen else "cut off"
    lab.report.measure(
        f"taken over from a worker that was {kind} after s (lease {LEASE_S})", round(took_s, 1)
    )
    lab.report.claim(f"the worker was {kind} before it wrote", [] if in_time else ["it had written"])
    _claim_once(lab, path, kind, ended)


def _claim_once(lab: Lab, path: str, kind: str, ended: tuple[object, object]) -> None:
    now = (_job(lab, path), lab.rows(_DOCUMENT, path))
    attempt, changes = _job(lab, path)[1], lab.rows(_CHANGES, path)[0][0]
    lab.report.claim(f"b took over from {kind}", [] if attempt == 2 else [f"attempt {attempt}"])
    lab.report.claim(f"{kind}: written once", [] if changes == 1 else [f"{changes} changes"])
    lab.report.claim(f"{kind}: nothing was written late", [] if now == ended else [f"{ended}, then {now}"])


def _job(lab: Lab, path: str) -> tuple[object, ...]:
    (job,) = lab.rows(_JOB, path)
    return job


@contextlib.contextmanager
def _pause(processes: Sequence[psutil.Process]) -> Iterator[None]:
    """Pause processes during the block."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.suspend()
    try:
        yield
    finally:
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.resume()


def _long_text(path: str) -> str:
    """Return a document that takes a second or so to parse; all differ, as equal bytes are parsed once."""
    paragraphs = (f"Paragraph {number} of the harbour's {path}." for number in range(_PARAGRAPHS))
    return "# Long\n\n" + "\n\n".join(paragraphs)
