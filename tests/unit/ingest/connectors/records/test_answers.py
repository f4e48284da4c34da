"""Limits of what is taken from a server: structures before they are parsed, and bytes in all."""

import json
import tracemalloc

import pytest

from ingest.connectors.errors import ListingFailed
from ingest.connectors.records import issues, requests
from ingest.connectors.records.issues import parse_json
from ingest.connectors.records.requests import ByteBudget, parse_xml


@pytest.mark.parametrize(
    "value",
    [
        {"a": [1, -2.5, True, None, {"b": "x"}], "ä\u2028": "[{,}]"},
        '"\\"],[{',
        "\\",
        "😀\ud800",
        [[[]]],
        0,
    ],
)
def test_json_of_a_server_is_parsed(value):
    assert parse_json(json.dumps(value).encode()) == value
    assert (
        parse_json(b"\xef\xbb\xbf" + json.dumps(value, ensure_ascii=False).encode(errors="surrogatepass"))
        == value
    )


@pytest.mark.parametrize(
    "content", [b"", b"{", b'"', b'"\\', b'"\\"', b"]" * 99, b"NaN,", b"\xff", b'"a" "b"']
)
def test_malformed_json_is_refused(content):
    with pytest.raises(ValueError):
        parse_json(content)


@pytest.mark.parametrize(
    "content",
    [
        b"[" + b"{}," * 2_000,
        b"[" + b"1," * 2_000,
        b"]" * 2_000,
        b"[" + b'"",' * 2_000,
        b'{"a":' * 2_000,
        b'["\\"' + b'",","' * 2_000,
    ],
)
def test_json_of_too_many_values_is_refused_before_it_takes_memory(monkeypatch, content):
    monkeypatch.setattr(issues, "MAX_MARKS", 1_000)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="it has more than"):
            parse_json(content)
        assert tracemalloc.get_traced_memory()[1] < 10 * len(content) + 50_000
    finally:
        tracemalloc.stop()


def test_nesting_has_a_limit():
    most = issues.MAX_DEPTH
    parse_json(b"[" * most + b"]" * most)
    parse_json(b"[" + b'"[[[[",' * most + b"1]")
    with pytest.raises(ValueError, match="levels"):
        parse_json(b"[" * (most + 1) + b"]" * (most + 1))


def test_quotation_marks_without_an_end_are_read_once():
    with pytest.raises(ValueError):
        parse_json(b'"' + b'\\"' * 1_000_000)


@pytest.mark.parametrize("item", [b"<a/>", b"x<a/>", b'<a b=""/>', b"<!---->", b"<a></a>"])
def test_xml_of_too_many_nodes_is_refused(monkeypatch, item):
    monkeypatch.setattr(requests, "_MAX_NODES", 100)
    parse_xml(b"<root>" + item * 40 + b"</root>", "example.org", "root")
    with pytest.raises(ListingFailed, match=r"example\.org answers XML of more than 100"):
        parse_xml(b"<root>" + item * 101 + b"</root>", "example.org", "root")


def test_byte_budget_grows_with_each_listed_document():
    budget = ByteBudget("example.org", most_documents=2)
    budget.start(100, bytes_per_document=10)
    budget.spend(100)
    budget.earn(2)
    budget.spend(20)
    with pytest.raises(ListingFailed, match=r"example\.org sends more than the 120 bytes"):
        budget.spend(1)
    with pytest.raises(ListingFailed, match=r"example\.org lists more than 2 documents"):
        budget.earn(1)
    budget.start(50)
    budget.spend(50)
    budget.earn(1)
    with pytest.raises(ListingFailed, match="50 bytes"):
        budget.spend(1)
