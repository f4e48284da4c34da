import json

import pytest
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.test import APIRequestFactory

from kebab.errors import InvalidJSON
from kebab.http.api.parsers import MAX_DEPTH, MAX_VALUES, MAX_WIDTH, parse_json
from kebab.http.api.serializers import HexIdField, ShortListField
from tests.support.actors import token_client


@pytest.fixture
def address(workspace):
    return f"/api/v1/workspaces/{workspace.slug}/notes"


@pytest.fixture
def post(workspace, address):
    client = token_client(workspace, "ingest")

    def send(body, content_type="application/json", **options):
        raw = body if isinstance(body, (bytes, str)) else json.dumps(body)
        return client.post(address, raw, content_type=content_type, **options)

    return send


@pytest.fixture
def get(workspace, address):
    client = token_client(workspace, "search")
    return lambda query, **options: client.get(f"{address}?{query}", **options)


def fields_of(response):
    return [error["field"] for error in response.json().get("errors", [])]


def outcome(response):
    return response.status_code, response.json()["code"], fields_of(response)


def test_unknown_fields_are_refused_by_name_with_the_known_ones(post):
    response = post({"text": "a", "txet": "b", "filters": {"tags": ["x"]}})
    assert outcome(response)[:2] == (400, "unknown_field")
    errors = {error["field"]: error["message"] for error in response.json()["errors"]}
    assert set(errors) == {"txet", "filters.tags"}
    assert "tags_any" in errors["filters.tags"]


def test_wrong_values_are_refused_with_their_place(post, subtests):
    deep = {"text": "a", "extra": {"deep": [0, {"er": "\0"}]}}
    for body, field in [
        ({"text": "a", "filters": {"tags_any": ["ok", {}]}}, "filters.tags_any[1]"),
        ({"text": "a\0b"}, "text"),
        (deep, "extra.deep[1].er"),
        ({"text": "a", "extra": {"k\0": 1}}, "extra"),
        ('{"text": "\\ud800"}', "text"),
    ]:
        with subtests.test(body=body):
            assert outcome(post(body)) == (400, "invalid_request", [field])


def test_unknown_and_repeated_parameters_are_refused(get, post, address, subtests):
    assert outcome(get("limit=5&page=2")) == (400, "unknown_field", ["page"])
    assert outcome(get("limit=1&limit=2")) == (400, "invalid_request", ["limit"])
    assert get("tags_any=b&tags_any=a").json() == {"tags_any": ["b", "a"]}
    for query in ("tags_any=a%00b", "cursor=%00", "a%00=1"):
        with subtests.test(query=query):
            assert get(query).status_code == 400


def test_method_without_parameters_refuses_them_all(workspace, address):
    client = token_client(workspace, "ingest")
    response = client.post(f"{address}?dry_run=1", {"text": "a"}, format="json")
    assert (response.status_code, fields_of(response)) == (400, ["dry_run"])


def test_rights_are_checked_before_parameters(workspace, address):
    client = token_client(workspace)
    assert client.get(f"{address}?nonsense=1").status_code == 403
    assert client.get("/api/v1/workspaces/no-such-space/notes?nonsense=1").status_code == 404


NOT_STRICT_JSON = [
    '{"text": "a", "text": "b"}',
    '{"text": "a", "weight": NaN}',
    '{"text": "a", "weight": -Infinity}',
    '{"text": "a", "weight": 1e999}',
    b'{"text": "\xff"}',
    '{"text": "a"',
    '{"text": "a"} {}',
    '{"text": ' + "9" * 5000 + "}",
    "[" * 5_000 + "]" * 5_000,
    '{"text": "a", "extra": ' + "[" * MAX_DEPTH + "]" * MAX_DEPTH + "}",
]


def test_body_that_is_not_strict_json_is_refused(post, subtests):
    for body in NOT_STRICT_JSON:
        with subtests.test(body=body[:60]):
            assert outcome(post(body))[:2] == (400, "invalid_json")
    for body in ("[]", "null", '"text"', "{}"):
        with subtests.test(body=body):
            assert post(body).status_code == 400


def test_byte_order_mark_before_json_is_ignored():
    assert parse_json(b'\xef\xbb\xbf{"q": "caf\xc3\xa9"}') == {"q": "café"}


def test_surrogate_pair_and_fifty_levels_are_accepted(post):
    assert post('{"text": "\\ud83e\\udd59"}').json()["text"] == "🥙"
    body = '{"text": "a", "extra": ' + "[" * (MAX_DEPTH - 1) + '"x"' + "]" * (MAX_DEPTH - 1) + "}"
    assert post(body).status_code == 201


def test_body_is_refused_by_its_form(post):
    chunked = post({"text": "a"}, headers={"Transfer-Encoding": "chunked"})
    assert outcome(chunked)[:2] == (411, "length_required")
    large = post({"text": "a" * 20_000})
    assert outcome(large)[:2] == (413, "too_large")
    assert "10000" in large.json()["detail"]
    form = post("text=a", content_type="application/x-www-form-urlencoded")
    assert outcome(form)[:2] == (415, "unsupported_media_type")


def test_multipart_field_with_a_nul_character_is_refused(post):
    for text, status in (("a", 201), ("a\0", 400)):
        form = APIRequestFactory().post("/", {"text": text}, format="multipart")
        assert post(form.body, form.headers["Content-Type"]).status_code == status


def test_accept_header_does_not_change_the_answer(get):
    assert get("", headers={"Accept": "text/html"}).headers["Content-Type"] == "application/json"


def test_number_and_length_of_reported_errors_is_bounded(post):
    unknown = post({"text": "a", **{f"a{number:03}": 1 for number in range(900)}})
    assert outcome(unknown) == (400, "unknown_field", [f"a{number:03}" for number in range(10)])
    wrong = post({"text": "a", "filters": {"tags_any": [{}] * 100}})
    assert fields_of(wrong) == [f"filters.tags_any[{n}]" for n in range(20)]
    assert fields_of(post({"text": "a", "x" * 5_000: "\0"})) == ["x" * 1_000 + "…"]


def test_id_is_thirty_two_lower_case_hex_digits(subtests):
    field, wire = HexIdField(), "0123456789abcdef" * 2
    assert field.to_representation(field.run_validation(wire)) == wire
    for given in ("A" * 32, "0" * 31, "0" * 33, "0" * 31 + "\n", 7, None, ""):
        with subtests.test(given=given), pytest.raises(ValidationError):
            field.run_validation(given)


def test_body_with_too_many_objects_or_values_is_refused_unread(monkeypatch, subtests):
    with pytest.raises(InvalidJSON, match=str(MAX_WIDTH)):
        parse_json(b"[" + b",".join([b"[]"] * (MAX_WIDTH + 1)) + b"]")
    monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("it was read"))
    for value in (b"{}", b'{"":0}', b"1", b'"a"', b'"\\""', b'{"a":"b"}'):
        with subtests.test(value=value), pytest.raises(InvalidJSON, match=str(MAX_VALUES)):
            parse_json(b"[" + b",".join([value] * (MAX_VALUES + 1)) + b"]")


def test_contents_of_a_string_are_not_counted_as_values(subtests):
    for text in ('a, "b", [c] and {d}\n', '\\"[', '"\\', "\\\\,"):
        with subtests.test(text=text):
            body = {"content": text * MAX_VALUES, "title": text}
            assert parse_json(json.dumps(body).encode()) == body


def test_list_that_is_too_long_is_refused_before_its_items_are_read():
    class Unread(serializers.Field):
        def run_validation(self, data):
            raise AssertionError("an item was read")

    with pytest.raises(ValidationError, match="no more than 2 elements"):
        ShortListField(child=Unread(), max_length=2).run_validation([1, 2, 3])
