"""Searches send no more statements and commands than their budgets allow: a busy machine changes none."""

import pytest

from tests.drills.regression import planted
from tests.drills.regression.budgets import COSTS
from tests.drills.regression.guards import Regression, check_costs
from tests.drills.regression.operations import OPERATIONS, counts

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("one_thread")]

COUNTED = ("statements", "round trips", "Redis commands")
# Where few documents pass a filter, two more statements look for them.
EXPECTED = {**{name: budget["statements"] for name, budget in COSTS.items()}, "filtered search": 7}


def counted(operation, workspace):
    figures, _ = counts(OPERATIONS[operation](workspace))
    return {name: figures[name] for name in COUNTED}


@pytest.mark.parametrize("operation", list(OPERATIONS))
def test_operation_sends_exactly_its_statements(small, operation):
    figures = counted(operation, small)
    assert figures["statements"] == figures["round trips"] == EXPECTED[operation]
    assert figures["Redis commands"] <= COSTS[operation].get("Redis commands", 0)


@pytest.mark.parametrize(
    ("plant", "found"),
    [
        (planted.a_statement_for_each_hit, r"(?s)\d+ statements.* round trips"),
        (planted.redis_asked_for_each_hit, "Redis commands"),
    ],
)
def test_statement_and_command_for_each_hit_are_over_budget(small, monkeypatch, plant, found):
    plant(monkeypatch)
    with pytest.raises(Regression, match=found):
        check_costs("search over HTTP", counted("search over HTTP", small))
