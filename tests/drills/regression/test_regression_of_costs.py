"""Costs of hot paths stay within their budgets, and each budget detects a planted regression.

Costs are counts of the work of PostgreSQL, SQLite, Redis and Python, independent of the machine's load.
"""

import pytest

from ingest.digest import pool
from ingest.jobs.items import worker
from ingest.jobs.kinds import embed as embed_job
from ingest.jobs.queue import lease
from search.vectors import nearest
from tests.drills.regression import regressions
from tests.drills.regression.budgets import COSTS, GROWTH
from tests.drills.regression.guards import Regression, check_costs, check_growth
from tests.drills.regression.ingest_costs import embedded_batch, mirrored_document, synced_documents
from tests.drills.regression.operations import OPERATIONS, costs
from tests.drills.regression.python_work import processor_ratio
from tests.support.mirrors import sync_in_this_thread

pytestmark = [pytest.mark.slow, pytest.mark.django_db, pytest.mark.usefixtures("one_thread")]

INGEST_OPERATIONS = ("ingested document", "unchanged document", "embedded batch", "mirrored document")
_NEVER_S = 3_600


@pytest.fixture
def without_timers(sizes, mirrors, blobs, monkeypatch):
    """Disable all time-dependent steps of jobs, and group documents by 32."""
    monkeypatch.setattr(lease, "_WATCH_S", _NEVER_S)
    monkeypatch.setattr(worker, "_TURN_S", _NEVER_S)
    monkeypatch.setattr(embed_job, "_TURN_S", _NEVER_S)
    monkeypatch.setattr(pool, "GATHER_S", _NEVER_S)
    sync_in_this_thread(monkeypatch)


def test_every_budget_belongs_to_a_measured_operation():
    assert COSTS.keys() == {*OPERATIONS, *INGEST_OPERATIONS}
    assert GROWTH.keys() <= OPERATIONS.keys()
    assert all(GROWTH[operation].keys() <= COSTS[operation].keys() for operation in GROWTH)


@pytest.mark.parametrize("operation", list(OPERATIONS))
def test_operation_stays_within_budget_and_grows_less_than_the_workspace(sizes, record_figures, operation):
    action = OPERATIONS[operation]
    large = record_figures(operation, costs(action(sizes["large"])))
    check_costs(operation, large)
    if operation in GROWTH:
        check_growth(operation, costs(action(sizes["small"])), large)


def test_ingesting_and_embedding_stay_within_budget(without_timers, record_figures, tmp_path):
    for operation, figures in synced_documents(tmp_path).items():
        check_costs(operation, record_figures(operation, figures))
    check_costs("embedded batch", record_figures("embedded batch", embedded_batch()))


def test_mirroring_a_document_stays_within_budget(without_timers, record_figures):
    check_costs("mirrored document", record_figures("mirrored document", mirrored_document()))


def test_processor_time_of_a_request_stays_within_a_multiple_of_fixed_work(sizes, record_figures):
    search = OPERATIONS["search over HTTP"](sizes["large"])
    search()
    figures = {"processor time, of fixed work": processor_ratio(search)}
    check_costs("search over HTTP", record_figures("search over HTTP", figures))


OVER_BUDGET = [
    (regressions.query_source_of_each_hit, "hybrid search", r"(?s)\d+ statements.* round trips"),
    (regressions.bypass_chunk_index, "search under rights", "rows read"),
    (regressions.bypass_chunk_index, "next page over HTTP", "rows read"),
    (regressions.scan_mirror, "hybrid search", r"(?s)mirror steps.*mirror rows scanned"),
    (regressions.copy_hits_repeatedly, "lexical search", r"(?s)lines run.*bytes allocated"),
    (regressions.query_redis_for_each_hit, "search over HTTP", "Redis commands"),
]
GROWING = [
    (regressions.bypass_chunk_index, "lexical search", "rows read"),
    (regressions.scan_mirror, "hybrid search", "mirror steps"),
]


def test_planted_regressions_exceed_the_budget(sizes, subtests):
    for plant, operation, found in OVER_BUDGET:
        with subtests.test(plant=plant, operation=operation), pytest.MonkeyPatch.context() as patch:
            plant(patch)
            with pytest.raises(Regression, match=found):
                check_costs(operation, costs(OPERATIONS[operation](sizes["large"])))


def test_planted_scans_grow_with_the_workspace(sizes, subtests):
    for plant, operation, found in GROWING:
        with subtests.test(plant=plant, operation=operation), pytest.MonkeyPatch.context() as patch:
            plant(patch)
            small, large = (costs(OPERATIONS[operation](sizes[size])) for size in ("small", "large"))
            with pytest.raises(Regression, match=found):
                check_growth(operation, small, large)


def test_cost_of_an_unused_index_grows_with_the_workspace(sizes, monkeypatch):
    monkeypatch.setattr(nearest, "_find_by_codes", lambda *given: None)
    small, large = (costs(OPERATIONS["vector search"](sizes[size])) for size in ("small", "large"))

    with pytest.raises(Regression, match="rows read"):
        check_growth("vector search by index", small, large)


def test_statement_for_each_chunk_exceeds_the_budget_of_a_document(without_timers, monkeypatch, tmp_path):
    regressions.insert_chunks_singly(monkeypatch)

    with pytest.raises(Regression, match=r"ingested document: .* statements"):
        check_costs("ingested document", synced_documents(tmp_path, 2, 6)["ingested document"])
