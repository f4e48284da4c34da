"""Numbers of statements and commands of searches, which don't depend on the machine's load."""

import pytest

from tests.drills.regression import regressions
from tests.drills.regression.budgets import COSTS
from tests.drills.regression.guards import Regression, check_costs
from tests.drills.regression.operations import OPERATIONS, counts

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("one_thread")]

COUNTED = ("statements", "round trips", "Redis commands")
EXPECTED = {name: budget["statements"] for name, budget in COSTS.items()}


def count_requests(operation, workspace):
    figures, _ = counts(OPERATIONS[operation](workspace))
    return {name: figures[name] for name in COUNTED}


@pytest.mark.parametrize("operation", list(OPERATIONS))
def test_operation_sends_exactly_its_statements(small, operation):
    figures = count_requests(operation, small)
    assert figures["statements"] == figures["round trips"] == EXPECTED[operation]
    assert figures["Redis commands"] <= COSTS[operation].get("Redis commands", 0)


@pytest.mark.parametrize(
    ("plant", "found"),
    [
        (regressions.query_source_of_each_hit, r"(?s)\d+ statements.* round trips"),
        (regressions.query_redis_for_each_hit, "Redis commands"),
    ],
)
def test_statement_or_command_for_each_hit_exceeds_the_budget(small, monkeypatch, plant, found):
    plant(monkeypatch)
    with pytest.raises(Regression, match=found):
        check_costs("search over HTTP", count_requests("search over HTTP", small))
