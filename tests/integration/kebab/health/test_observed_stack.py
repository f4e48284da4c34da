"""A real stack's metrics, logs and one trace, over all its processes."""

import json
import re
import time
import uuid
from collections.abc import Iterator

import httpx
import pytest

from tests.acceptance.client import Client
from tests.integration.kebab.health.collector import Collector
from tests.integration.kebab.health.observed_stack import TOKEN, ObservedStack
from tests.support.http_stub import running
from tests.support.paths import ROOT
from tests.support.stack import Stack, eventually, temporary_directory

pytestmark = pytest.mark.slow

_TEXT = "# Zisterne\n\nA cistern keeps rainwater through the summer. The word is zisternenwasser.\n"
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
#: Families that every stack that has ingested and searched has series of.
_EXPECTED = """
    kebab_build_info kebab_store_up kebab_store_answer_seconds kebab_disk_free_bytes
    kebab_http_requests_total kebab_http_request_seconds_count kebab_database_pool
    kebab_search_seconds_count kebab_search_leg_seconds_count kebab_search_stage_seconds_count
    kebab_ingest_items_total kebab_ingest_chunks_total kebab_ingest_stage_seconds_count
    kebab_job_attempts_total kebab_jobs_ended_total kebab_job_seconds_count kebab_hints_total
    kebab_sweeps_total kebab_jobs_due kebab_jobs_due_oldest_seconds kebab_queue_messages
    kebab_embedded_chunks_total kebab_mirror_sync_seconds_count kebab_mirror_changes_total
    kebab_mirror_rebuilds_total kebab_mirrors kebab_mirrors_lagging kebab_mirror_lag_changes_max
    kebab_mirror_lag_seconds_max kebab_embedding_coverage_ratio_min kebab_chunks
    kebab_chunks_without_vector kebab_processes_alive kebab_worker_slots kebab_postgres_connections
    kebab_postgres_wal_bytes_total kebab_outages_total kebab_problems_total kebab_redis_failures_total
    kebab_hints_lost_total kebab_searches_degraded_total kebab_search_vector_legs_total
    process_resident_memory_bytes process_cpu_seconds_total process_open_fds
"""


@pytest.fixture(scope="module")
def observed_stack() -> Iterator[ObservedStack]:
    with running(Collector()) as collector:
        stack = Stack(
            temporary_directory(),
            KEBAB_EMBEDDER="hash",
            KEBAB_NODE_ID="node-o",
            KEBAB_LOG_FORMAT="json",
            KEBAB_METRICS_TOKEN=TOKEN,
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
            OTEL_BSP_SCHEDULE_DELAY="200",
            # The test's own, or another's, that leads somewhere.
            no_proxy="127.0.0.1",
        )
        try:
            stack.up()
            client = _client(stack)
            yield ObservedStack(stack=stack, collector=collector, client=client)
            client.close()
        finally:
            stack.stop()
            stack.remove()


def _client(stack: Stack) -> Client:
    assert stack.run("workspace", "create", "observed-slug").returncode == 0
    made = stack.run(
        "token", "create", "--workspace", "observed-slug", "--scope", "search,ingest,ask", "--json"
    )
    client = Client(stack.url, "observed-slug", json.loads(made.stdout)["token"])
    for number in range(3):
        client.upload(f"zisterne-{number}.md", f"{_TEXT}Number {number}.\n", wait_for="searchable")
    for mode in ("lexical", "hybrid"):
        assert client.search("rainwater", mode=mode)["hits"]
    eventually(lambda: client.search("rainwater", mode="vector")["hits"], "its vector is there")
    client.request("POST", "/ask", json={"question": "What keeps rainwater?"}).raise_for_status()
    return client


def test_all_metrics_are_exposed_with_plausible_values(observed_stack):
    eventually(lambda: _counts_a_new_document(observed_stack), "what is handed in is counted")
    eventually(lambda: observed_stack.total("kebab_embedded_chunks_total") >= 1, "vectors have followed")
    eventually(lambda: _is_embedded(observed_stack), "and that is told", 90)
    eventually(lambda: not _missing(observed_stack), "all are there")

    assert observed_stack.total("kebab_search_seconds_count", mode="lexical") >= 1
    assert observed_stack.total("kebab_search_seconds_count", mode="hybrid") >= 1
    assert observed_stack.total("kebab_jobs_ended_total", kind="ingest_document", state="succeeded") >= 1
    assert observed_stack.total("kebab_job_seconds_sum", kind="ingest_document") > 0
    assert observed_stack.total("kebab_answers_total") == 1
    assert observed_stack.total("kebab_store_up") == 4
    assert observed_stack.total("kebab_mirror_lag_changes_max") == 0
    eventually(lambda: observed_stack.total("kebab_jobs_due") == 0, "nothing is due")


def _counts_a_new_document(observed):
    # A worker's series end with it: what others have handed in before may be counted no longer.
    name = uuid.uuid4().hex
    observed.client.upload(f"{name}.md", f"# Counted\n\nOne more: {name}.\n", wait_for="searchable")
    return observed.total("kebab_ingest_items_total", outcome="new") >= 1


def _is_embedded(observed):
    # The two were counted one after the other, and a scrape may have come in between.
    without_vector = observed.total("kebab_chunks_without_vector")
    return without_vector == 0 and observed.total("kebab_embedding_coverage_ratio_min") == 1


def _missing(observed):
    return set(_EXPECTED.split()) - {name for name, _ in observed.metrics()}


def test_roles_of_all_processes_and_names_of_dashboard_and_rules_are_exposed(observed_stack):
    roles = {"web", "worker", "embedder", "upkeep", "supervisor", "postgres", "redis"}
    folder = ROOT / "deploy" / "observability"
    queries = "".join((folder / name).read_text() for name in ("grafana-dashboard.json", "alerts.yaml"))
    named = set(re.findall(r"\b(?:kebab|process)_[a-z_]+", queries))

    def missing():
        exposed = set(re.findall(r"^# TYPE (\S+)", observed_stack.text(), re.M))
        names = exposed | {f"{name}_{part}" for name in exposed for part in ("bucket", "sum", "count")}
        found = {
            dict(labels)["role"] for name, labels in observed_stack.metrics() if name == "process_open_fds"
        }
        return (named - names) | (roles - found)

    # A worker that was killed a moment ago counts again as soon as it works.
    eventually(lambda: not missing(), f"all are there of {sorted(named | roles)}")


def test_workspaces_are_shown_only_to_operators_and_by_id(observed_stack):
    eventually(lambda: observed_stack.total("kebab_mirrors") == 1, "the mirror is counted")
    for token in ("", "wrong", TOKEN):
        text = observed_stack.text(token)
        assert "observed-slug" not in text and "zisterne" not in text
        if token != TOKEN:
            assert not _UUID.search(text) and "workspace=" not in text
    assert httpx.get(f"{observed_stack.stack.url}/metrics").status_code == 200


@pytest.mark.alone
def test_probes_answer_within_two_seconds_while_both_servers_hang(observed_stack):
    url = observed_stack.stack.url
    assert httpx.get(f"{url}/readyz").json() == {
        "status": "ready",
        "checks": dict.fromkeys(("postgres", "migrations", "redis", "mirrors", "blobs"), "ok"),
    }
    with observed_stack.suspend("postgres", "redis"):
        eventually(lambda: _ready(url)[0].status_code == 503, "what was found before is no longer told", 10)
        healthy, health_s = timed_get(f"{url}/healthz")
        ready, ready_s = _ready(url)
        text, metrics_s = timed_get(f"{url}/metrics")
    assert (healthy.status_code, healthy.json()) == (200, {"status": "ok"})
    assert ready.status_code == 503 and int(ready.headers["Retry-After"]) > 0
    checks = ready.json()["checks"]
    del checks["blobs"]  # found within ten seconds, or not answered
    assert checks == {
        "postgres": "failed",
        "migrations": "failed",
        "redis": "degraded",
        "mirrors": "ok",
    }
    assert 'kebab_store_up{store="postgres"} 0' in text.text
    assert 'kebab_store_up{store="redis"} 0' in text.text
    assert "kebab_search_seconds_count" in text.text
    assert max(health_s, ready_s, metrics_s) < 2
    eventually(lambda: _ready(url)[0].json().get("status") == "ready", "it is ready again")


def timed_get(url, **options):
    """Return the answer and the seconds it took."""
    began = time.monotonic()
    answer = httpx.get(url, timeout=20, **options)
    return answer, time.monotonic() - began


def _ready(url):
    answer, took_s = timed_get(f"{url}/readyz")
    assert took_s < 2
    return answer, took_s


def test_lines_of_the_worker_hold_the_request_id(observed_stack):
    own = f"request-{uuid.uuid4().hex}"
    answer = observed_stack.client.request(
        "POST",
        "/documents",
        params={"wait_for": "searchable"},
        json={"path": "logged.md", "text": "# Logged\n\nA secretword stands here.\n"},
        headers={"X-Request-ID": own},
    )
    assert answer.status_code == 201
    assert answer.headers["X-Request-ID"] == own
    job_id = answer.json()["job"]["id"]

    eventually(
        lambda: any(line.get("job_id") == job_id for line in observed_stack.lines("worker")), "it is logged"
    )
    lines = [line for line in observed_stack.lines("worker") if line.get("job_id") == job_id]
    assert {line["request_id"] for line in lines} == {own}
    assert {line["attempt"] for line in lines} == {1}
    assert {line["task"] for line in lines} == {"ingest.run_job"}
    assert all(_UUID.fullmatch(line["workspace"]) for line in lines)
    assert {line["node"] for line in lines} == {"node-o"}
    (access,) = [
        line
        for line in observed_stack.lines("web")
        if line.get("request_id") == own and line["logger"] == "kebab.access"
    ]
    assert access["message"].startswith("POST api/v1/workspaces/<str:ws>/documents 201 in ")


def test_every_log_line_is_json_without_text_of_documents(observed_stack):
    for name in ("web", "worker", "embedder", "upkeep"):
        lines = observed_stack.lines(name)
        assert all({"time", "level", "logger", "message", "role", "pid"} <= line.keys() for line in lines)
        output = str(lines)
        assert (
            "rainwater" not in output
            and "secretword" not in output
            and observed_stack.client.token not in output
        )


def test_request_id_is_returned_and_a_harmful_one_is_replaced(observed_stack):
    url = observed_stack.stack.url
    given = {"X-Request-ID": "a" * 65}
    for path in ("/healthz", "/missing", "/api/v1/missing", "/mcp", "/static/kebab/base.css", "/login"):
        answer = httpx.get(f"{url}{path}", headers=given, timeout=30)  # /mcp is imported first
        assert re.fullmatch(r"[0-9a-f]{32}", answer.headers["X-Request-ID"]), path
        assert len(answer.headers.get_list("X-Request-ID")) == 1
    assert "X-Request-ID" not in httpx.get(f"{url}/api/v1/missing").headers
    first = observed_stack.client.upload("stream.md", "# S\n\nText.\n")["job"]["id"]
    stream = observed_stack.client.request("GET", f"/jobs/{first}/events", headers={"X-Request-ID": "own-id"})
    assert stream.headers["X-Request-ID"] == "own-id"


def test_one_trace_leads_from_a_request_to_the_worker(observed_stack):
    trace_id = uuid.uuid4().hex
    given = {"traceparent": f"00-{trace_id}-00f067aa0ba902b7-01"}
    document = {"path": "traced.md", "text": "# Traced\n\nA tracedword stands here.\n"}
    observed_stack.client.request("POST", "/documents", json=document, headers=given).raise_for_status()
    observed_stack.client.request(
        "POST", "/search", json={"q": "tracedquery"}, headers=given
    ).raise_for_status()

    def names() -> set[tuple[str, str]]:
        found = observed_stack.collector.spans()
        return {(role, span.name) for role, span in found if span.trace_id.hex() == trace_id}

    wanted = {
        ("web", "request"),
        ("web", "search.lexical"),
        ("web", "search.hits"),
        ("worker", "job"),
        ("worker", "ingest.parse"),
        ("worker", "ingest.write"),
        ("embedder", "job"),
        ("embedder", "ingest.embed"),
    }
    eventually(lambda: wanted <= names(), "all spans have come", 60)
    sent = b"".join(observed_stack.collector.bodies)
    for secret in (
        b"tracedword",
        b"tracedquery",
        b"traced.md",
        b"observed-slug",
        observed_stack.client.token.encode(),
    ):
        assert secret not in sent
