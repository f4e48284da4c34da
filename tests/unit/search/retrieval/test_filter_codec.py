"""The JSON form of search filters."""

import json
from datetime import UTC, datetime

import pytest

from search.retrieval.errors import InvalidFilter
from search.retrieval.query.filter_codec import filters_from_json, filters_to_json
from search.retrieval.query.filters import ChunkKind, SearchFilters, TrustLevel

FILTERS = SearchFilters(
    kind=(ChunkKind.CODE,),
    path_glob=("a/**", "b.md"),
    trust_min=TrustLevel.PRIMARY,
    ingested_after=datetime(2026, 1, 31, 12, tzinfo=UTC),
    author=("Ada",),
    dated_before=datetime(2026, 1, 31, 12, tzinfo=UTC),
)
JSON = (
    '{"path_glob": ["a/**", "b.md"], "trust_min": "primary", "kind": ["code"],'
    ' "ingested_after": "2026-01-31T12:00:00+00:00", "author": ["Ada"],'
    ' "dated_before": "2026-01-31T12:00:00+00:00"}'
)


def test_filters_equal_those_parsed_from_their_json():
    assert json.dumps(filters_to_json(FILTERS)) == JSON
    assert filters_from_json(json.loads(JSON)) == FILTERS
    assert filters_to_json(SearchFilters()) == {}


def test_single_text_is_a_list_of_one_and_null_is_absent():
    given = {"lang": "en", "source": None, "trust_min": None, "ingested_after": None}
    assert filters_from_json(given) == SearchFilters(lang=("en",))


@pytest.mark.parametrize(
    ("given", "part"),
    [
        (["lang"], "give names with their values"),
        ({"colour": ["c"]}, "There is no filter 'colour'"),
        ({"lang": 5}, "The filter lang is '5'"),
        ({"lang": ["en", 5]}, "The filter lang has '5'"),
        ({"trust_min": ["primary"]}, "The filter trust_min has"),
        ({"trust_min": "best"}, "'best' is not one of"),
        ({"ingested_after": "soon"}, "write it like 2026-01-31T12:00:00Z"),
        ({"ingested_after": 5}, "write it like 2026-01-31T12:00:00Z"),
        ({"ingested_after": "2026-01-31"}, "ingested_after 2026-01-31T00:00:00 lacks a time zone"),
        ({"dated_after": "soon"}, "dated_after 'soon' is not a time"),
        ({"dated_before": "2026-01-31"}, "dated_before 2026-01-31T00:00:00 lacks a time zone"),
    ],
)
def test_wrong_filter_is_refused_with_its_name_and_value(given, part):
    with pytest.raises(InvalidFilter, match=part):
        filters_from_json(given)
