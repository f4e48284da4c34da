"""Requests are read strictly."""

import json

import pytest
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.test import APIRequestFactory

from kebab.api.errors import InvalidJSON
from kebab.api.fields import HexIdField, ShortListField
from kebab.api.parsers import MAX_DEPTH, MAX_VALUES, MAX_WIDTH, parse_json
from tests.support.actors import token_client


@pytest.fixture
def post(workspace):
    client = token_client(workspace, "ingest")

    def send(body, content_type="application/json"):
        raw = body if isinstance(body, (bytes, str)) else json.dumps(body)
        return client.post(f"/api/v1/workspaces/{workspace.slug}/notes", raw, content_type=content_type)

    return send


@pytest.fixture
def get(workspace):
    client = token_client(workspace, "search")
    return lambda query: client.get(f"/api/v1/workspaces/{workspace.slug}/notes?{query}")


def test_unknown_fields_are_refused_by_name_and_the_known_ones_are_told(post):
    response = post({"text": "a", "txet": "b", "filters": {"tags": ["x"]}})

    assert (response.status_code, response.json()["code"]) == (400, "unknown_field")
    errors = {error["field"]: error["message"] for error in response.json()["errors"]}
    assert set(errors) == {"txet", "filters.tags"}
    assert "tags_any" in errors["filters.tags"]


def test_wrong_values_are_named_with_their_place(post):
    response = post({"text": "a", "filters": {"tags_any": ["ok", {}]}})

    assert (response.status_code, response.json()["code"]) == (400, "invalid_request")
    assert [error["field"] for error in response.json()["errors"]] == ["filters.tags_any[1]"]


def test_unknown_parameters_are_refused(get):
    response = get("limit=5&page=2")

    assert (response.status_code, response.json()["code"]) == (400, "unknown_field")
    assert response.json()["errors"][0]["field"] == "page"


def test_a_method_without_parameters_refuses_them_all(workspace):
    client = token_client(workspace, "ingest")
    response = client.post(
        f"/api/v1/workspaces/{workspace.slug}/notes?dry_run=1", {"text": "a"}, format="json"
    )

    assert (response.status_code, response.json()["errors"][0]["field"]) == (400, "dry_run")


def test_rights_are_checked_before_parameters(workspace):
    client = token_client(workspace)

    assert client.get(f"/api/v1/workspaces/{workspace.slug}/notes?nonsense=1").status_code == 403
    assert client.get("/api/v1/workspaces/no-such-space/notes?nonsense=1").status_code == 404


def test_head_asks_for_the_rights_of_get(workspace):
    path = f"/api/v1/workspaces/{workspace.slug}/notes"

    assert token_client(workspace, "search").head(path).status_code == 200
    assert token_client(workspace, "ingest").head(path).status_code == 403


def test_a_list_parameter_takes_its_repetitions_in_order(get):
    assert get("tags_any=b&tags_any=a").json() == {"tags_any": ["b", "a"]}


def test_a_parameter_that_is_no_list_may_come_once_only(get):
    response = get("limit=1&limit=2")

    assert (response.status_code, response.json()["errors"][0]["field"]) == (400, "limit")


@pytest.mark.parametrize("query", ["tags_any=a%00b", "cursor=%00", "a%00=1"])
def test_a_nul_character_in_a_parameter_is_refused(get, query):
    assert get(query).status_code == 400


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"text": "a\0b"}, "text"),
        ({"text": "a", "extra": {"deep": [0, {"er": "\0"}]}}, "extra.deep[1].er"),
        ({"text": "a", "extra": {"k\0": 1}}, "extra"),
        ('{"text": "\\ud800"}', "text"),
    ],
)
def test_text_that_cannot_be_stored_is_refused_with_its_place(post, body, field):
    response = post(body)

    assert response.status_code == 400
    assert [error["field"] for error in response.json()["errors"]] == [field]


@pytest.mark.parametrize(
    "body",
    [
        '{"text": "a", "text": "b"}',
        '{"text": "a", "weight": NaN}',
        '{"text": "a", "weight": -Infinity}',
        '{"text": "a", "weight": 1e999}',
        b'{"text": "\xff"}',
        b'\xef\xbb\xbf{"text": "a"}',
        '{"text": "a"',
        '{"text": "a"} {}',
        '{"text": ' + "9" * 5000 + "}",
        "[" * 5_000 + "]" * 5_000,
        '{"text": "a", "extra": ' + "[" * MAX_DEPTH + "]" * MAX_DEPTH + "}",
    ],
)
def test_what_is_no_strict_json_is_refused(post, body):
    response = post(body)

    assert (response.status_code, response.json()["code"]) == (400, "invalid_json")


def test_a_surrogate_pair_is_one_character(post):
    assert post('{"text": "\\ud83e\\udd59"}').json()["text"] == "🥙"


def test_a_body_in_chunks_is_refused_rather_than_taken_for_none(workspace):
    client = token_client(workspace, "ingest")
    response = client.post(
        f"/api/v1/workspaces/{workspace.slug}/notes",
        {"text": "a"},
        format="json",
        headers={"Transfer-Encoding": "chunked"},
    )

    assert (response.status_code, response.json()["code"]) == (411, "length_required")


@pytest.mark.parametrize("body", ["[]", "null", '"text"', "{}"])
def test_a_body_that_is_no_object_with_the_fields_is_refused(post, body):
    assert post(body).status_code == 400


@pytest.mark.parametrize("weight", ["nan", "inf", "-inf", "1e999"])
def test_a_number_in_text_must_be_finite_too(post, weight):
    response = post({"text": "a", "weight": weight})

    assert (response.status_code, response.json()["errors"][0]["field"]) == (400, "weight")


@pytest.mark.parametrize("given", ["A" * 32, "0" * 31, "0" * 33, "0" * 31 + "\n", 7, None, ""])
def test_an_id_is_thirty_two_lower_case_hex_digits(given):
    with pytest.raises(ValidationError):
        HexIdField().run_validation(given)


def test_an_id_goes_through_the_wire_unchanged():
    field, wire = HexIdField(), "0123456789abcdef" * 2

    assert field.to_representation(field.run_validation(wire)) == wire


def test_a_body_above_the_views_limit_is_413_and_names_it(post):
    response = post({"text": "a" * 20_000})

    assert (response.status_code, response.json()["code"]) == (413, "too_large")
    assert "10000" in response.json()["detail"]


def test_another_content_type_is_415(post):
    response = post("text=a", content_type="application/x-www-form-urlencoded")

    assert (response.status_code, response.json()["code"]) == (415, "unsupported_media_type")


def test_a_multipart_field_with_a_nul_character_is_refused(post):
    factory = APIRequestFactory()
    good = factory.post("/", {"text": "a"}, format="multipart")
    bad = factory.post("/", {"text": "a\0"}, format="multipart")

    assert post(good.body, good.headers["Content-Type"]).status_code == 201
    assert post(bad.body, bad.headers["Content-Type"]).status_code == 400


def test_what_a_client_accepts_does_not_change_the_answer(workspace):
    client = token_client(workspace, "search")
    response = client.get(f"/api/v1/workspaces/{workspace.slug}/notes", headers={"Accept": "text/html"})

    assert response.headers["Content-Type"] == "application/json"


def test_fifty_levels_are_not_too_deep(post):
    body = '{"text": "a", "extra": ' + "[" * (MAX_DEPTH - 1) + '"x"' + "]" * (MAX_DEPTH - 1) + "}"

    assert post(body).status_code == 201


def test_of_many_unknown_fields_the_first_are_named(post):
    problem = post({"text": "a", **{f"a{number:03}": 1 for number in range(900)}}).json()

    assert problem["code"] == "unknown_field"
    assert [error["field"] for error in problem["errors"]] == [f"a{number:03}" for number in range(10)]


def test_of_many_wrong_values_twenty_are_told(post):
    problem = post({"text": "a", "filters": {"tags_any": [{}] * 100}}).json()

    assert [error["field"] for error in problem["errors"]] == [f"filters.tags_any[{n}]" for n in range(20)]


def test_a_long_name_is_cut_where_it_is_told(post):
    [error] = post({"text": "a", "x" * 5_000: "\0"}).json()["errors"]

    assert error["field"] == "x" * 1_000 + "…"


def test_a_body_with_too_many_objects_is_refused():
    with pytest.raises(InvalidJSON, match=f"more than {MAX_WIDTH} objects"):
        parse_json(b"[" + b",".join([b"[]"] * (MAX_WIDTH + 1)) + b"]")


@pytest.mark.parametrize("value", [b"{}", b'{"":0}', b"1", b'"a"', b'"\\""', b'{"a":"b"}'])
def test_a_body_with_too_many_values_is_refused_before_it_is_read(value, monkeypatch):
    monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("it was read"))
    with pytest.raises(InvalidJSON, match=f"more than {MAX_VALUES} objects, lists and values"):
        parse_json(b"[" + b",".join([value] * (MAX_VALUES + 1)) + b"]")


@pytest.mark.parametrize("text", ['a, "b", [c] and {d}\n', '\\"[', '"\\', "\\\\,"])
def test_what_stands_in_a_string_is_no_value(text):
    body = {"content": text * MAX_VALUES, "title": text}
    assert parse_json(json.dumps(body).encode()) == body


def test_a_list_that_is_too_long_is_refused_before_its_items_are_read():
    class Unread(serializers.Field):
        def run_validation(self, data):
            raise AssertionError("an item was read")

    with pytest.raises(ValidationError, match="no more than 2 elements"):
        ShortListField(child=Unread(), max_length=2).run_validation([1, 2, 3])
