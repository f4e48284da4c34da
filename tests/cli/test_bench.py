"""The parts of `kebab bench`."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.cli.bench.figures import latency_figures, percentile, unmeasured
from ingest.cli.bench.machine import conditions, memory_figures
from ingest.cli.bench.searching import heading_queries, http_figures, in_process_figures
from ingest.cli.scratch import scratch_workspace
from kebab.cli.errors import CliError
from kebab.people.models import ApiToken, Workspace
from tests.corpus.making import chunk, write


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(1, 100))
def test_a_percentile_is_one_of_the_values_and_covers_its_share(values, percent):
    found = percentile(values, percent)
    assert found in values
    assert sum(value <= found for value in values) >= len(values) * percent / 100 - 1e-9
    assert sum(value < found for value in values) < max(1, len(values) * percent / 100)


def test_percentiles_of_a_hundred_values():
    values = [float(n) for n in range(1, 101)]
    assert [percentile(values, each) for each in (50, 95, 100)] == [50, 95, 100]


def test_latencies_are_given_in_milliseconds_with_their_budgets():
    median, worst = latency_figures("lexical", [0.001, 0.002, 0.010], p50="at most 8")
    assert (median.name, median.value, median.unit, median.budget) == ("lexical, p50", 2.0, "ms", "at most 8")
    assert worst.value == 10.0


def test_what_cannot_be_measured_says_why():
    assert unmeasured("HTTP", "nothing runs").note == "nothing runs"
    assert unmeasured("HTTP", "nothing runs").value is None


def test_queries_are_headings_and_the_same_every_time(workspace):
    for number in range(20):
        write(workspace, f"{number}.md", chunk("text", heading=f"Guide > Part {number % 10}"))
    queries = heading_queries(workspace, 5)
    assert len(set(queries)) == 5
    assert all(query.startswith("Part ") for query in queries)
    assert heading_queries(workspace, 5) == queries
    assert len(heading_queries(workspace, 500)) == 10


def test_a_folder_without_headings_is_refused(workspace):
    with pytest.raises(CliError, match="heading"):
        heading_queries(workspace, 5)


def test_each_mode_is_measured_in_process(workspace):
    write(workspace, "a.md", "apple")
    names = [figure.name for figure in in_process_figures(workspace, ["apple", "guide"])]
    assert names == [
        f"{mode} in-process, {each}" for mode in ("lexical", "vector", "hybrid") for each in ("p50", "p95")
    ]


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        asked = (self.path, self.headers["Authorization"].startswith("Bearer kbb_"))
        self.server.asked.append(asked)
        self.send_response(self.server.status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


@contextmanager
def _stack(status):
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answer)
    server.status, server.asked = status, []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_http_is_measured_with_a_token_that_is_of_no_use_after(workspace):
    with _stack(200) as (server, url):
        figures = http_figures(workspace, url, [f"query {n}" for n in range(20)])

    assert set(server.asked) == {(f"/api/v1/workspaces/{workspace.slug}/search", True)}
    assert len(server.asked) == 10 + 20 + 20
    assert [figure.unit for figure in figures] == ["ms", "ms", "requests/s", "ms"]
    assert not ApiToken.objects.get().is_usable


def test_a_stack_that_refuses_is_told_and_leaves_no_token(workspace):
    with _stack(500) as (_, url), pytest.raises(CliError, match="500"):
        http_figures(workspace, url, ["query"])
    assert not ApiToken.objects.get().is_usable


def test_the_conditions_name_what_decides_the_figures(workspace):
    found = conditions(chunks=3, documents=2, queries=1)
    assert found.keys() >= {"cores", "python", "postgres", "pgvector", "sqlite", "embedder", "chunks"}
    assert all(found.values())


def test_without_a_stack_its_memory_is_not_measured(db):
    (whole,) = memory_figures(None)
    assert (whole.value, whole.note) == (None, "no `kebab up` runs")


def test_the_scratch_workspace_goes_whatever_happens(db, mirrors):
    with pytest.raises(KeyboardInterrupt), scratch_workspace("bench") as workspace:
        write(workspace, "a.md", "apple")
        raise KeyboardInterrupt
    assert not Workspace.objects.exists()
