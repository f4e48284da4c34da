"""Filters on metadata: the values of a document, and the conditions on them."""

import pytest

from search.retrieval.errors import InvalidFilter
from search.retrieval.query.conditions import comparisons
from search.retrieval.query.metadata import (
    FOLDED,
    MAX_FIELDS,
    MAX_VALUES,
    NUMBERS,
    TIMES,
    as_shown,
    filter_values,
)
from search.retrieval.query.metadata_filter import (
    MAX_CONDITIONS,
    MAX_CONDITIONS_IN_ALL,
    parse_metadata_filter,
)


def test_metadata_is_flattened_to_texts_and_numbers():
    found = filter_values(
        {
            "team": "ops",
            "year": 2021,
            "stack": ["web", "db", "web", None],
            "review": {"by": {"name": "Ada"}, "done": True},
            "nothing": None,
            "deep": {"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}},
            "inf": float("inf"),
            "\x00": "no name",
        }
    )
    assert found == {
        "team": ["ops"],
        "year": [2021.0],
        "year" + FOLDED: ["2021"],
        "year" + TIMES: [1609459200.0],
        "stack": ["web", "db"],
        "review.by.name": ["Ada"],
        "review.by.name" + FOLDED: ["ada"],
        "review.done": ["true"],
    }


def test_times_of_dates_stand_beside_their_text():
    due = ["2024-03-01", "soon", "2024-03-01T02:00:00+02:00", "01.03.2024", "2024-03"]
    found = filter_values({"due": due, "year": "2024", "size": 12})
    assert found["due" + TIMES] == [1709251200.0]
    assert found["year" + TIMES] == [1704067200.0]
    assert "size" + TIMES not in found


def test_values_stand_beside_the_texts_and_numbers_that_they_are_compared_as():
    found = filter_values({"team": ["Ops", "OPS", "dev", 1], "n": ["7", "1.10", "x"], "due": "5.3.2024"})
    assert found["team" + FOLDED] == ["ops", "1"]
    assert found["n" + NUMBERS] == [7.0, 1.1]
    assert "n" + FOLDED not in found
    assert found["due" + FOLDED] == ["2024-03-05"]


def test_numbers_are_shown_as_given_where_they_are_exact():
    shown = [as_shown(value) for value in (2021.0, 0.5, 1.2e22, "x")]
    assert [(value, type(value)) for value in shown] == [
        (2021, int),
        (0.5, float),
        (1.2e22, float),
        ("x", str),
    ]


def test_what_is_beyond_the_limits_is_left_out():
    assert len(filter_values({f"f{number}": "x" for number in range(MAX_FIELDS + 5)})) == MAX_FIELDS
    assert len(filter_values({"f": list(range(MAX_VALUES + 5))})["f"]) == MAX_VALUES


def with_conditions(count):
    """Return a filter with so many conditions on fields, in nested groups."""
    groups = [
        {"$and": [{str(number): 1} for number in range(start, min(start + MAX_CONDITIONS, count))]}
        for start in range(0, count, MAX_CONDITIONS)
    ]
    return {"$or": groups}


def test_filter_may_have_as_many_conditions_as_the_limit():
    (each,) = parse_metadata_filter(with_conditions(MAX_CONDITIONS_IN_ALL))
    assert len(list(comparisons(each.condition))) == MAX_CONDITIONS_IN_ALL


@pytest.mark.parametrize(
    "given",
    [
        "team",
        {"": "x"},
        {"team": None},
        {"$nor": [{"team": "ops"}]},
        {"$or": {"team": "ops"}},
        {"$or": []},
        {"$or": [{}]},
        {"$or": [{"$or": [{"$or": [{"$or": [{"$or": [{"team": "ops"}]}]}]}]}]},
        {"team": []},
        {"team": {}},
        {"team": {"like": "o"}},
        {"team": {"exists": "yes"}},
        {"team": {"contains": ""}},
        {"team": {"starts_with": {"a": 1}}},
        {"team": {"not": {"not": "ops"}}},
        {"$path": {"gte": "a"}},
        {"$date": {"gte": "soon"}},
        {"$citation": "a.md#L1"},
        {"team": {"gte": "soon"}},
        {"team": {"gte": True}},
        {"team": [{"a": 1}]},
        {"team": ["x"] * (MAX_VALUES + 1)},
        {str(number): 1 for number in range(MAX_CONDITIONS + 1)},
        with_conditions(MAX_CONDITIONS_IN_ALL + 1),
    ],
)
def test_wrong_condition_is_refused(given):
    with pytest.raises(InvalidFilter):
        parse_metadata_filter(given)
