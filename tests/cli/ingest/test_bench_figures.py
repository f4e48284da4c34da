"""Figures of the parts of `kebab bench`."""

import json
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.cli.bench import demo_start, embedder
from ingest.cli.bench.agents import mcp_figure
from ingest.cli.bench.agreement import agreement_figure
from ingest.cli.bench.clients import Asked, Client, ask_at_once
from ingest.cli.bench.demo_start import demo_figures, find_first_hit, idle_stack_mb
from ingest.cli.bench.figures import Figure, latency_figures, unmeasured, value_of
from ingest.cli.bench.machine import conditions, memory_figures
from ingest.cli.bench.rebuilding import rebuild_figures
from ingest.cli.bench.searching import heading_queries, http_figures, in_process_figures, search_all
from ingest.cli.scratch import scratch_workspace
from kebab.cli.errors import CliError
from kebab.people.models import ApiToken, Workspace
from search.embedders.hashing import HashEmbedder
from search.evaluation.latency import percentile
from search.node import mirror_files
from search.retrieval.types import Mode
from search.vectors.spaces import ensure_live_space
from tests.cli.ingest.stub_server import serving
from tests.support.corpus import chunk, write
from tests.support.searching import sync

_TOKEN = {"Authorization": "Bearer kbb_x"}


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(1, 100))
def test_percentile_is_one_of_the_values_and_covers_its_share(values, percent):
    found = percentile(values, percent)
    assert found in values
    assert sum(value <= found for value in values) >= len(values) * percent / 100 - 1e-9
    assert sum(value < found for value in values) < max(1, len(values) * percent / 100)


def test_latencies_are_in_milliseconds_with_their_budgets():
    hundred = [float(n) for n in range(1, 101)]
    assert [percentile(hundred, each) for each in (50, 95, 100)] == [50, 95, 100]
    figures = latency_figures("lexical", [0.001, 0.002, 0.010], p50=8)
    median, worst = figures
    assert (median.name, median.value, median.unit, median.budget) == ("lexical, p50", 2.0, "ms", "at most 8")
    assert worst.value == 10.0
    assert value_of(figures, "lexical, p50") == 2.0
    assert value_of(figures, "vector, p50") is None
    nothing = unmeasured("HTTP", "nothing runs")
    assert (nothing.note, nothing.value) == ("nothing runs", None)


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
            figure = Figure(name="lexical", value=value, unit="ms", **limits)
            assert (figure.is_met, figure.budget) == (is_met, budget)
            assert figure.as_json()["is_met"] is is_met


def test_queries_are_headings_and_the_same_every_time(workspace):
    with pytest.raises(CliError):
        heading_queries(workspace, 5)
    for number in range(20):
        write(workspace, f"{number}.md", chunk("text", heading=f"Guide > Part {number % 10}"))
    queries = heading_queries(workspace, 5)
    assert len(set(queries)) == 5
    assert all(query.startswith("Part ") for query in queries)
    assert heading_queries(workspace, 5) == queries
    assert len(heading_queries(workspace, 500)) == 10


def test_each_mode_is_measured_in_process(workspace):
    write(workspace, "a.md", "apple")
    figures = in_process_figures(workspace, ["apple", "guide"])
    assert [figure.at_most for figure in figures] == [8, 25, None, None, 10, 30]
    assert [figure.name for figure in figures] == [
        f"{mode} in-process, {each}" for mode in ("lexical", "vector", "hybrid") for each in ("p50", "p95")
    ]


def test_every_mode_embeds_its_queries_itself(workspace, monkeypatch):
    write(workspace, "a.md", "apple")
    ensure_live_space(workspace, HashEmbedder().space)
    asked, real = [], HashEmbedder.embed_query

    def noted(self, text):
        asked.append(text)
        return real(self, text)

    monkeypatch.setattr(HashEmbedder, "embed_query", noted)
    for mode in (Mode.VECTOR, Mode.HYBRID):
        asked.clear()
        search_all(workspace, ["apple", "guide"], mode)
        assert asked[-2:] == ["apple", "guide"]


def test_lexical_leg_agrees_with_plain_bm25_on_a_small_corpus(workspace):
    for number in range(20):
        write(workspace, f"{number}.md", f"apple number {number}")
    sync(workspace)
    assert agreement_figure(workspace, ["apple", "number 7"]).value == 1.0
    assert agreement_figure(workspace, ["quince"]).value is None


def test_http_is_measured_with_a_token_that_is_revoked_after(workspace):
    measured = latency_figures("hybrid in-process", [0.006])
    with serving() as (server, url):
        figures = http_figures(workspace, url, [f"query {n}" for n in range(20)], in_process=measured)

    assert set(server.asked) == {(f"/api/v1/workspaces/{workspace.slug}/search", True)}
    assert len(server.asked) == 10 + 20 + 20
    assert [figure.unit for figure in figures] == ["ms", "ms", "requests/s", "ms"]
    assert (figures[0].at_most, figures[0].budget) == (10.0, "at most 10 (in-process + 4)")
    assert not ApiToken.objects.get().is_usable


def test_search_over_mcp_is_measured_beside_one_over_http(workspace):
    with serving() as (server, url):
        figure = mcp_figure(workspace, url, [f"query {n}" for n in range(20)])

    asked = [path for path, is_allowed in server.asked if is_allowed]
    assert asked == ["/mcp"] * 10 + [f"/api/v1/workspaces/{workspace.slug}/search"] * 20 + ["/mcp"] * 20
    assert figure.at_most > 0 < figure.value
    assert figure.budget.endswith("(1.3 × over HTTP)")


def test_crowd_asks_what_the_server_has_not_embedded_yet(workspace):
    known, unseen = [f"known {n}" for n in range(3)], [f"unseen {n}" for n in range(16)]
    with serving() as (server, url):
        http_figures(workspace, url, known, unseen=unseen)
    asked = [json.loads(body)["q"] for body in server.bodies]
    assert asked == known * 2 + asked[6:]
    assert sorted(asked[6:]) == sorted(unseen)


def test_crowd_shares_out_the_queries_and_counts_all(db):
    with serving() as (server, url):
        client = Client(
            name="it", url=url, request=lambda text: Asked(path=f"/{text}", body={}), headers=_TOKEN
        )
        crowd = ask_at_once(client, [f"q{n}" for n in range(11)])
    assert sorted(path for path, _ in server.asked) == sorted(f"/q{n}" for n in range(11))
    assert len(crowd.seconds) == 11
    assert crowd.rate == 11 / crowd.wall_s


def test_refusing_stack_is_an_error_and_leaves_no_token(workspace):
    write(workspace, "a.md", "apple")
    with serving(500) as (_, url):
        with pytest.raises(CliError, match="500"):
            http_figures(workspace, url, ["query"])
        assert not ApiToken.objects.get().is_usable
        with pytest.raises(CliError, match="500"):
            rebuild_figures(workspace, url, ["apple"])


@pytest.mark.parametrize("is_serving", [True, False])
def test_searches_go_on_while_the_mirror_is_rebuilt(workspace, is_serving):
    write(workspace, "a.md", "apple")
    sync(workspace)
    before = mirror_files(workspace.pk).current()
    with serving() as (server, url):
        rebuilt, meanwhile = rebuild_figures(workspace, url if is_serving else "", ["apple"])
    assert mirror_files(workspace.pk).current() != before
    assert (rebuilt.at_most, rebuilt.note.partition(" in ")[0]) == (15.0, "1 chunks")
    assert rebuilt.value > 0
    assert (meanwhile.value is None) is not is_serving
    if is_serving:
        assert meanwhile.note.startswith(f"{len(server.asked)} searches, 0 ")


def test_conditions_name_what_decides_the_figures(workspace):
    found = conditions(chunks=3, documents=2, queries=1)
    assert found.keys() >= {"cores", "python", "postgres", "pgvector", "sqlite", "embedder", "chunks"}
    assert all(found.values())
    (whole,) = memory_figures(None)
    assert whole.value is None


def test_scratch_workspace_is_deleted_whatever_happens(db, mirrors):
    with pytest.raises(KeyboardInterrupt), scratch_workspace("bench") as workspace:
        write(workspace, "a.md", "apple")
        raise KeyboardInterrupt
    assert not Workspace.objects.exists()


def test_embedders_take_turns_on_the_same_texts():
    asked = []
    texts = [f"text {number}" for number in range(600)]
    rates = embedder.in_turns(
        [lambda turn: asked.append(("a", turn)), lambda turn: asked.append(("b", turn))], texts
    )
    turns = asked[2:]  # the first text alone loads the model
    assert [name for name, _ in turns] == ["a", "b"] * 3
    assert [text for name, turn in turns if name == "b" for text in turn] == texts
    assert len(rates) == 2


def test_other_embedder_than_the_default_is_not_compared_with_torch(workspace):
    write(workspace, "a.md", "apple")
    alone, beside = embedder.embedder_figures(workspace)
    assert alone.value > 0
    assert (beside.value, "hash" in beside.note) == (None, True)


def test_first_hit_is_the_line_behind_the_question():
    lines = ["Indexed 3 documents", "", "Searching for: progress", "", " 1. Rich  0.9"]
    assert find_first_hit(lines)
    assert not find_first_hit(lines[:-1])
    assert not find_first_hit(["", "Indexed"])


def test_demonstration_never_runs_on_a_database_of_somebody_else(monkeypatch, settings):
    started = []
    monkeypatch.setattr(demo_start, "demonstration", started.append)
    settings.KEBAB_EMBEDDED_POSTGRES = False
    assert [figure.value for figure in demo_figures()] == [None, None]
    assert started == []


def test_second_start_of_the_demonstration_counts(monkeypatch, settings):
    directories, taken = [], iter([90.0, 12.0])

    @contextmanager
    def start(directory):
        directories.append(directory)
        yield next(taken)

    monkeypatch.setattr(demo_start, "demonstration", start)
    monkeypatch.setattr(demo_start, "idle_stack_mb", lambda directory: 900.0)
    settings.KEBAB_EMBEDDED_POSTGRES = True
    seconds, memory = demo_figures()
    assert (seconds.value, seconds.is_met) == (12.0, True)
    assert (memory.value, memory.is_met) == (900.0, True)
    assert directories[0] == directories[1]


def test_memory_is_that_of_a_stack_which_has_come_to_rest(monkeypatch, tmp_path):
    with pytest.raises(CliError):
        idle_stack_mb(tmp_path)
    looks = iter([[900.0], [600.0], [500.0], [300.0, 199.0]])
    monkeypatch.setattr(demo_start, "_SETTLING_S", 0.0)
    monkeypatch.setattr(demo_start, "family_mb", lambda pid: next(looks))
    monkeypatch.setattr(
        demo_start, "running_state", lambda directory: SimpleNamespace(supervisor=SimpleNamespace(pid=1))
    )
    assert idle_stack_mb(tmp_path) == 499.0
