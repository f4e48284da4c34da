"""Figures of the parts of the budgets."""

import json
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kebab.cli.errors import CliError
from kebab.identity.models import ApiToken
from search.evaluation.results import percentile
from search.mirror.local_mirrors import mirror_files
from tests.cli.ingest.stub_server import serving
from tests.drills.bench.budgets import demo_start
from tests.drills.bench.budgets.agents import mcp_figure
from tests.drills.bench.budgets.figures import Figure, latency_figures
from tests.drills.bench.budgets.mirror_rebuild import rebuild_figures
from tests.drills.bench.budgets.search import heading_queries, http_figures
from tests.support.corpus import chunk, write
from tests.support.search import sync


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(1, 100))
def test_percentile_is_one_of_the_values_and_covers_its_share(values, percent):
    found = percentile(values, percent)
    assert found in values
    assert sum(value <= found for value in values) >= len(values) * percent / 100 - 1e-9
    assert sum(value < found for value in values) < max(1, len(values) * percent / 100)


def test_budget_has_a_verdict(subtests):
    for limits, value, is_met, budget in (
        ({"at_most": 8.0}, 8.0, True, "at most 8"),
        ({"at_most": 8.0}, 8.1, False, "at most 8"),
        ({"at_least": 1_500.0}, 1_500.0, True, "at least 1,500"),
        ({"at_least": 1_500.0}, 1_499.0, False, "at least 1,500"),
        ({"at_most": 12.25, "rule": "in-process + 4"}, 12.0, True, "at most 12.2 (in-process + 4)"),
        ({"at_most": 8.0}, None, None, "at most 8"),
        ({}, 8.0, None, ""),
    ):
        with subtests.test(limits=limits, value=value):
            found = Figure(name="lexical", value=value, unit="ms", **limits).as_json()
            assert (found["is_met"], found["budget"]) == (is_met, budget)


def test_benchmark_queries_are_headings_chosen_deterministically(workspace):
    with pytest.raises(CliError):
        heading_queries(workspace, 5)
    for number in range(10):
        write(workspace, f"{number}.md", chunk("text", heading=f"Guide > Part {number}"))
    queries = heading_queries(workspace, 5)
    assert len(set(queries)) == 5
    assert all(query.startswith("Part ") for query in queries)
    assert heading_queries(workspace, 5) == queries


def test_http_is_measured_with_a_token_that_is_revoked_after(workspace):
    known, unseen = [f"known {n}" for n in range(3)], [f"unseen {n}" for n in range(16)]
    measured = latency_figures("hybrid in-process", [0.006])
    with serving() as (server, url):
        figures = http_figures(workspace, url, known, unseen=unseen, in_process=measured)

    asked = [json.loads(body)["q"] for body in server.bodies]
    assert set(server.asked) == {(f"/api/v1/workspaces/{workspace.slug}/search", True)}
    assert (asked[:6], sorted(asked[6:])) == (known * 2, sorted(unseen))
    assert [figure.unit for figure in figures] == ["ms", "ms", "requests/s", "ms"]
    assert (figures[0].at_most, figures[0].budget) == (10.0, "at most 10 (in-process + 4)")
    assert not ApiToken.objects.get().is_usable


def test_search_over_mcp_is_compared_with_one_over_http(workspace):
    with serving() as (server, url):
        figure = mcp_figure(workspace, url, [f"query {n}" for n in range(20)])

    asked = [path for path, is_allowed in server.asked if is_allowed]
    assert asked == ["/mcp"] * 10 + [f"/api/v1/workspaces/{workspace.slug}/search"] * 20 + ["/mcp"] * 20
    assert figure.at_most > 0 < figure.value


def test_refusing_stack_is_an_error_and_leaves_no_token(workspace):
    write(workspace, "a.md", "apple")
    with serving(500) as (_, url):
        for measure in (http_figures, rebuild_figures):
            with pytest.raises(CliError, match="500"):
                measure(workspace, url, ["apple"])
    assert [token.is_usable for token in ApiToken.objects.all()] == [False, False]


def test_searches_go_on_while_the_mirror_is_rebuilt(workspace):
    write(workspace, "a.md", "apple")
    sync(workspace)
    before = mirror_files(workspace.pk).current()
    with serving() as (server, url):
        rebuilt, meanwhile = rebuild_figures(workspace, url, ["apple"])
    assert mirror_files(workspace.pk).current() != before
    assert rebuilt.value > 0 < meanwhile.value
    assert meanwhile.note.startswith(f"{len(server.asked)} searches, 0 ")


def test_demonstration_is_timed_at_its_second_start_and_never_on_a_foreign_database(monkeypatch, settings):
    directories, taken = [], iter([90.0, 12.0])

    @contextmanager
    def start(directory):
        directories.append(directory)
        yield next(taken)

    monkeypatch.setattr(demo_start, "demonstration", start)
    monkeypatch.setattr(demo_start, "idle_stack_mb", lambda directory: 900.0)
    settings.KEBAB_EMBEDDED_POSTGRES = False
    assert [figure.value for figure in demo_start.demo_figures()] == [None, None]
    assert directories == []
    settings.KEBAB_EMBEDDED_POSTGRES = True
    assert [figure.value for figure in demo_start.demo_figures()] == [12.0, 900.0]
    assert directories[0] == directories[1]
    lines = ["Indexed 3 documents", "", "Searching for: progress", "", " 1. Rich  0.9"]
    assert (demo_start.find_first_hit(lines), demo_start.find_first_hit(lines[:-1])) == (True, False)
