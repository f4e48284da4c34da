"""The date and the author of a document, from its metadata."""

from datetime import UTC, datetime, timedelta

import pytest

from search.retrieval.document_date import known_date, stated_author, stated_date, time_of_ns

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({}, None),
        ({"date": "2024-03-05"}, datetime(2024, 3, 5, tzinfo=UTC)),
        (
            {"created": "2020-01-01", "modified": "2023-01-01T10:00:00+02:00"},
            datetime(2023, 1, 1, 8, tzinfo=UTC),
        ),
        ({"date": "last week", "created": "2020-01-01T00:00:00"}, datetime(2020, 1, 1, tzinfo=UTC)),
        ({"date": None, "updated": ["2020-01-01"], "created": 5}, None),
        ({"date": "Tue, 5 Mar 2024 10:00:00 -0500"}, datetime(2024, 3, 5, 15, tzinfo=UTC)),
        ({"date": "2024-03-05T10:00:00Z"}, datetime(2024, 3, 5, 10, tzinfo=UTC)),
        ({"date": "2024-03"}, datetime(2024, 3, 1, tzinfo=UTC)),
        ({"date": 2024}, datetime(2024, 1, 1, tzinfo=UTC)),
        ({"date": True}, None),
        ({"date": "5. März", "created": "2024-03-05"}, datetime(2024, 3, 5, tzinfo=UTC)),
        ({"date": "1899-12-31"}, None),
        ({"date": "0001-01-01T00:00:00+14:00", "created": "2020-01-01"}, datetime(2020, 1, 1, tzinfo=UTC)),
        ({"date": "9999-12-31T23:59:59-14:00"}, None),
        ({"date": "2024-13-45"}, None),
        ({"date": "Tue, 99 Mar 99999 10:00:00 -9999"}, None),
        ({"date": "2" * 1_000_000}, None),
    ],
)
def test_stated_date_is_the_first_that_can_be_believed(metadata, expected):
    assert stated_date(metadata) == expected


def test_date_of_the_near_future_is_believed_and_of_a_later_one_is_not():
    now = datetime.now(UTC)
    soon, late = (now + timedelta(days=days) for days in (300, 400))
    assert stated_date({"date": soon.isoformat()}) == soon
    assert stated_date({"date": late.isoformat()}) is None


def test_stated_date_precedes_the_date_of_the_file():
    change = datetime(2025, 1, 1, tzinfo=UTC)
    assert known_date({"date": "2024-03-05"}, modified_at=change) == datetime(2024, 3, 5, tzinfo=UTC)
    assert known_date({}, modified_at=change) == change
    assert known_date({}, modified_at=None) is None
    assert known_date({}, modified_at=datetime(2999, 1, 1, tzinfo=UTC)) is None


@pytest.mark.parametrize(
    ("mtime_ns", "expected"),
    [
        (None, None),
        (1_700_000_000_123_456_789, datetime(2023, 11, 14, 22, 13, 20, 123456, tzinfo=UTC)),
        (2**63 - 1, datetime(2262, 4, 11, 23, 47, 16, 854776, tzinfo=UTC)),
        (-(2**63), datetime(1677, 9, 21, 0, 12, 43, 145224, tzinfo=UTC)),
    ],
)
def test_time_of_a_file_is_read_to_the_microsecond(mtime_ns, expected):
    found = time_of_ns(mtime_ns)
    assert found == expected if expected is None else abs(found - expected) < timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({}, ""),
        ({"author": "Ada  Lovelace\n"}, "Ada Lovelace"),
        ({"author": " ", "creator": "Tool"}, "Tool"),
        ({"authors": ["Ada", {"name": "Bo", "email": "b@example.org"}, 5, None, "Ada"]}, "Ada, Bo"),
        ({"author": {"name": "Ada"}}, "Ada"),
        ({"author": ["Ada"], "creator": "Tool"}, "Ada"),
        ({"author": "A\x00d\u200ba\x1b[1m"}, "Ada[1m"),
        ({"author": [["Ada"]]}, ""),
        ({"author": "x" * 1_000_000}, "x" * 200),
        ({"author": 5}, ""),
    ],
)
def test_author_is_read_from_texts_and_lists(metadata, expected):
    assert stated_author(metadata) == expected
