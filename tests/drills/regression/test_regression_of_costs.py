"""No change makes a hot path cost more than its budget, and each budget would notice one that does.

Costs are counts: what PostgreSQL, SQLite, Redis and Python are asked to do. A busy machine changes none.
"""

import pytest

from ingest.digest import pool
from ingest.jobs.items import worker
from ingest.jobs.kinds import embed as embed_job
from ingest.jobs.queue import lease
from search.vectors import nearest
from tests.drills.regression import planted
from tests.drills.regression.budgets import COSTS, GROWTH
from tests.drills.regression.guards import Regression, check_costs, check_growth
from tests.drills.regression.ingesting import embedded_batch, mirrored_document, synced_documents
from tests.drills.regression.operations import OPERATIONS, costs
from tests.support.mirrors import sync_in_this_thread

pytestmark = [pytest.mark.slow, pytest.mark.django_db, pytest.mark.usefixtures("one_thread")]

INGESTING = ("ingested document", "unchanged document", "embedded batch", "mirrored document")
_EVER_S = 3_600


@pytest.fixture
def nothing_by_the_clock(sizes, mirrors, blobs, monkeypatch):
    """Jobs look at nothing and give way to nobody because time has passed; documents come in groups of 32."""
    monkeypatch.setattr(lease, "_WATCH_S", _EVER_S)
    monkeypatch.setattr(worker, "_TURN_S", _EVER_S)
    monkeypatch.setattr(embed_job, "_TURN_S", _EVER_S)
    monkeypatch.setattr(pool, "GATHER_S", _EVER_S)
    sync_in_this_thread(monkeypatch)


def test_every_budget_is_of_something_measured():
    assert COSTS.keys() == {*OPERATIONS, *INGESTING}
    assert GROWTH.keys() <= OPERATIONS.keys()
    assert all(GROWTH[operation].keys() <= COSTS[operation].keys() for operation in GROWTH)


@pytest.mark.parametrize("operation", list(OPERATIONS))
def test_an_operation_keeps_its_budget_and_grows_less_than_the_workspace(sizes, noted, operation):
    action = OPERATIONS[operation]
    large = noted(operation, costs(action(sizes["large"])))
    check_costs(operation, large)
    if operation in GROWTH:
        check_growth(operation, costs(action(sizes["small"])), large)


def test_documents_and_batches_keep_their_budgets(nothing_by_the_clock, noted, tmp_path):
    for operation, figures in synced_documents(tmp_path).items():
        check_costs(operation, noted(operation, figures))
    check_costs("embedded batch", noted("embedded batch", embedded_batch()))


def test_a_document_is_mirrored_within_its_budget(nothing_by_the_clock, noted):
    check_costs("mirrored document", noted("mirrored document", mirrored_document()))


OVER_BUDGET = [
    (planted.a_statement_for_each_hit, "hybrid search", r"(?s)\d+ statements.* round trips"),
    (planted.no_index_for_chunks, "search under rights", "rows read"),
    (planted.no_index_for_chunks, "next page over HTTP", "rows read"),
    (planted.a_scanned_mirror, "lexical search", r"(?s)mirror steps.*mirror rows scanned"),
    (planted.a_list_copied_over_and_over, "lexical search", r"(?s)lines run.*bytes allocated"),
    (planted.redis_asked_for_each_hit, "search over HTTP", "Redis commands"),
]
GROWING = [
    (planted.no_index_for_chunks, "lexical search", "rows read"),
    (planted.a_scanned_mirror, "hybrid search", "mirror steps"),
]


def test_planted_regressions_are_over_budget(sizes, subtests):
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


def test_an_index_that_is_not_used_grows_with_the_workspace(sizes, monkeypatch):
    monkeypatch.setattr(nearest, "_find_by_codes", lambda asked: None)
    small, large = (costs(OPERATIONS["vector search"](sizes[size])) for size in ("small", "large"))

    with pytest.raises(Regression, match="rows read"):
        check_growth("vector search by index", small, large)


def test_a_statement_for_each_chunk_is_over_the_budget_of_a_document(
    nothing_by_the_clock, monkeypatch, tmp_path
):
    planted.chunks_written_one_by_one(monkeypatch)

    with pytest.raises(Regression, match=r"ingested document: .* statements"):
        check_costs("ingested document", synced_documents(tmp_path, 2, 6)["ingested document"])
