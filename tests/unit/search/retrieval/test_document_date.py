"""The date of a document, from its metadata or the time of indexing."""

from datetime import UTC, datetime

import pytest

from search.retrieval.document_date import document_date

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({}, NOON),
        ({"date": "2024-03-05"}, datetime(2024, 3, 5, tzinfo=UTC)),
        (
            {"created": "2020-01-01", "modified": "2023-01-01T10:00:00+02:00"},
            datetime(2023, 1, 1, 8, tzinfo=UTC),
        ),
        ({"date": "last week", "created": "2020-01-01T00:00:00"}, datetime(2020, 1, 1, tzinfo=UTC)),
        ({"date": None, "updated": ["2020-01-01"], "created": 5}, NOON),
    ],
)
def test_stated_date_comes_before_the_time_of_indexing(metadata, expected):
    assert document_date(metadata, NOON) == expected.timestamp()
