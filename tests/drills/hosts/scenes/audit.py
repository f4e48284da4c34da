"""Audit of all scenes' writes: nothing acknowledged is lost, nothing rejected was written."""

import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from tests.drills.hosts.client import Exchange
from tests.drills.hosts.lab import Lab
from tests.support.stack import Stack, eventually

# A try without an answer holds its Idempotency-Key for a minute.
_RETRY_LIMIT_S = 90.0
_PAUSE_S = 0.5
_SENDERS = 6
JOBS_LIMIT_S = 90.0
_JOBS = "SELECT payload->>'path', count(*) FROM ingest_job WHERE kind = 'ingest_document' GROUP BY 1"
_DOCUMENTS = "SELECT path, size_bytes FROM search_document"
#: Queries of jobs that have not ended, and of those that failed.
OPEN_JOBS = "SELECT kind, state FROM ingest_job WHERE state IN ('queued', 'running')"
FAILED_JOBS = "SELECT kind, error FROM ingest_job WHERE state = 'failed'"


def audit(lab: Lab) -> None:
    """Compare Postgres with the answers to clients."""
    report = lab.report
    eventually(lambda: not lab.rows(OPEN_JOBS), "all jobs end", JOBS_LIMIT_S)
    report.claim("no job failed", lab.rows(FAILED_JOBS))
    jobs = Counter(dict(lab.rows(_JOBS)))
    acknowledged = {each.path: each for each in lab.writes if each.is_done}
    unsure = [each for each in lab.writes if not each.is_done and each.path not in lab.refused]
    report.measure("writes acknowledged, refused, unsure", _counts(acknowledged, lab.refused, unsure))
    present = {path for path, _ in lab.rows(_DOCUMENTS)}
    report.claim(
        "what was rejected while the database was away was not written", lab.refused & (present | jobs.keys())
    )
    report.claim("what may have been written was, once or not", [e for e in unsure if jobs[e.path] > 1])
    report.measure("of the unsure ones written", sum(jobs[each.path] for each in unsure))
    report.claim("sent again under its key, it is written", _send_again(lab, unsure))
    eventually(lambda: not lab.rows(OPEN_JOBS), "all jobs end", JOBS_LIMIT_S)
    _claim_once(lab, [*acknowledged.values(), *unsure])
    for node in (lab.a, lab.b):
        report.claim(f"the mirrors of {node.name} equal Postgres", mirror_faults(node))


def _counts(acknowledged: dict[str, Exchange], refused: set[str], unsure: list[Exchange]) -> str:
    return f"{len(acknowledged)}, {len(refused)}, {len(unsure)}"


def _send_again(lab: Lab, unsure: list[Exchange]) -> list[str]:
    """Repeat the writes under their keys until they are acknowledged; return those that never were."""
    deadline = time.monotonic() + _RETRY_LIMIT_S
    waiting = list(unsure)
    with ThreadPoolExecutor(_SENDERS) as senders:
        while waiting and time.monotonic() < deadline:
            again = list(senders.map(partial(_send_one_again, lab), waiting))
            waiting = [each for each, answer in zip(waiting, again, strict=True) if not answer.is_done]
            if waiting:
                time.sleep(_PAUSE_S)
    return [each.path for each in waiting]


def _send_one_again(lab: Lab, exchange: Exchange) -> Exchange:
    client = lab.client(lab.a)
    answer = client.ask(exchange.kind, path=exchange.path, text=exchange.text)
    client.close()
    return answer


def _claim_once(lab: Lab, exchange: list[Exchange]) -> None:
    rows = lab.rows(_DOCUMENTS)
    present = dict(rows)
    expected = {each.path: len(each.text.encode()) for each in exchange if each.path not in lab.deleted}
    wrong = [path for path, size in expected.items() if present.get(path) != size]
    lab.report.claim("what was acknowledged is there, whole", wrong)
    lab.report.claim("and once", [path for path, times in Counter(p for p, _ in rows).items() if times > 1])
    lab.report.claim("what was deleted is not", lab.deleted & present.keys())


def mirror_faults(node: Stack) -> list[str]:
    """Return the checks of a node's mirrors that don't pass."""
    done = node.run("doctor", "--json")
    checks = json.loads(done.stdout)["checks"]
    return [str(each) for each in checks if each["name"] == "mirrors" and each["status"] != "ok"]
