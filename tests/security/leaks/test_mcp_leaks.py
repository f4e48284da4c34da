"""MCP reveals nothing hidden: every tool and the resources, called with everybody's tokens."""

from collections.abc import Mapping
from typing import Any

import pytest
from django.test import RequestFactory
from rest_framework.exceptions import APIException

from kebab.errors import ApiError
from kebab.http.api.problems import log_problem
from kebab.identity.models import TokenScope
from search.mcp.call_context import Call
from search.mcp.http import admit_request
from search.mcp.server import list_resources, read_resource
from search.mcp.tools.registry import TOOLS, answer_call, problem_text
from tests.security.leaks.answers import Answer, captured_log, leaks_in, shows
from tests.security.leaks.callers import name_of_scope
from tests.security.leaks.canaries import CLOSED, THEIRS

# Arguments of each tool that refer to hidden objects; ids in braces are the target's.
TOOL_CALLS: Mapping[str, list[dict[str, Any]]] = {
    "search": [
        {"query": "{word}", "mode": "lexical"},
        {"query": "'{stem}*'", "mode": "lexical", "detail": "passages"},
        {"query": "{stem}titel", "mode": "lexical"},
        {"query": "workers", "mode": "lexical", "filters": {"source": ["{sourcekey}", "{source}"]}},
        {"query": "workers", "mode": "hybrid", "filters": {"doc_id": "{doc}"}, "detail": "passages"},
        {"query": "workers", "filters": {"version": "{tag}"}, "detail": "titles"},
        {"query": "workers source:{sourcekey}", "mode": "lexical"},
        {"query": "workers", "filters": {"path_glob": "{stem}folder/**", "tags_any": "{stem}tag"}},
    ],
    "fetch": [
        {"id": "{doc}"},
        {"id": "{chunk}", "before": 3, "after": 3},
        {"id": "{doc}", "lines": "1-9"},
        {"id": "{path}#L1"},
        {"id": "{path}"},
        {"id": "kebab://{sourcekey}/{path}"},
        {"id": "kebab://{sourcekey}@{tag}/{path}#L1"},
    ],
    "resolve-library-id": [
        {"libraryName": "{stem}", "query": "{word}"},
        {"libraryName": "{library}"},
        {"libraryName": "{word}"},
    ],
    "query-docs": [
        {"libraryId": "{library}", "query": "{word}"},
        {"libraryId": "{library}@{tag}", "query": "workers"},
        {"libraryId": "{library}/{tag}", "query": "{stem}*"},
    ],
    "codebase-retrieval": [
        {"information_request": "the text of workers", "source": "{sourcekey}"},
        {"information_request": "workers", "source": "{source}", "version": "{tag}"},
        {"information_request": "{word}", "technical_terms": ["{word}"], "include": "{stem}folder/**"},
        {"information_request": "workers", "include": "{stem}folder/**", "response_mode": "overview"},
    ],
    "ask": [
        {"question": "What of the workers?", "filters": {"source": "{sourcekey}"}},
        {"question": "What of the workers?", "conversation_id": "{conversation}"},
    ],
}
_URIS = ("{path}", "{path}#L1", "kebab://{sourcekey}/{path}", "kebab://{sourcekey}@{tag}/{path}#L1")
# With such arguments neither shows the documents that it finds.
_SILENT = ({"query": "{stem}titel", "mode": "lexical"},)


def test_every_tool_is_called():
    assert set(TOOL_CALLS) == set(TOOLS)


def tools_of(stage_setting):
    """Return the callers with a token, valid or not."""
    return [
        caller
        for caller in stage_setting.callers.values()
        if "HTTP_AUTHORIZATION" in caller.client._credentials
    ]


def admit(caller):
    """Return the accesses of the caller's token. Raises APIException without one."""
    header = caller.client._credentials["HTTP_AUTHORIZATION"]
    request = RequestFactory().post("/mcp", headers={"Authorization": header}, HTTP_HOST="localhost")
    return admit_request(request)


def call_of(caller):
    """Return a call with the accesses of the caller's token. Raises APIException without one."""
    access, *others = admit(caller)
    return Call(access=access, others=tuple(others))


def fill(value, ids):
    if isinstance(value, str):
        return value.format_map(ids)
    if isinstance(value, dict):
        return {name: fill(each, ids) for name, each in value.items()}
    return [fill(each, ids) for each in value] if isinstance(value, list) else value


def request_texts(value, ids):
    """Return the texts of the target in the call, by their placeholders."""
    if isinstance(value, str):
        return {value: value.format_map(ids)} | {
            f"{{{name}}}": ids[name] for name in ids if f"{{{name}}}" in value
        }
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {key: text for each in inner for key, text in request_texts(each, ids).items()}


def call(caller, name, given, target):
    try:
        made = call_of(caller)
    except (ApiError, APIException) as error:
        return Answer(status=401, headers={}, text=problem_text(log_problem(error, "")), given={})
    answer = answer_call(TOOLS[name], fill(given, target.ids), made)
    return Answer(
        status=400 if answer.is_error else 200,
        headers={},
        text=f"{answer.text}\n{answer.data}",
        given=request_texts(given, target.ids),
    )


def targets(stage_setting):
    return {THEIRS: stage_setting.stage.hidden, CLOSED: stage_setting.stage.closed}


@pytest.mark.parametrize("name", sorted(TOOL_CALLS))
def test_tool_answers_for_hidden_like_missing(stage_setting, subtests, name):
    for given in TOOL_CALLS[name]:
        for stem, target in targets(stage_setting).items():
            for caller in (each for each in tools_of(stage_setting) if stem in each.hostile_to):
                with subtests.test(given=given, caller=caller.name):
                    with captured_log() as lines:
                        hidden = call(caller, name, given, target)
                    absent = call(caller, name, given, target.missing())
                    assert hidden.leaks(target) == []
                    assert [line for line in lines if leaks_in(line, target, hidden.given.values())] == []
                    assert hidden.comparable == absent.comparable


@pytest.mark.parametrize("name", sorted(TOOL_CALLS))
def test_tool_shows_hidden_objects_to_authorised_callers(stage_setting, subtests, name):
    for given in TOOL_CALLS[name]:
        for stem, caller in ((THEIRS, "their token"), (CLOSED, "token in the group")):
            with subtests.test(given=given, caller=caller):
                answer = call(stage_setting.callers[caller], name, given, targets(stage_setting)[stem])
                if "conversation_id" in given:  # visible to the asker alone
                    assert answer.status == 400
                elif given not in _SILENT:
                    assert answer.status == 200, answer.text
                    assert shows(answer, targets(stage_setting)[stem]), answer.text


def test_hidden_resource_equals_a_missing_one(stage_setting, subtests):
    for uri in _URIS:
        for stem, target in targets(stage_setting).items():
            for caller in (each for each in tools_of(stage_setting) if stem in each.hostile_to):
                with subtests.test(uri=uri, caller=caller.name):
                    hidden, absent = (
                        read(caller, uri.format_map(each.ids)) for each in (target, target.missing())
                    )
                    assert hidden == absent
                    assert not leaks_in(hidden, target, [uri.format_map(target.ids)])
        assert shows_resource(stage_setting, uri)


def read(caller, uri):
    try:
        return read_resource(call_of(caller), uri)
    except (ApiError, APIException) as error:
        return problem_text(log_problem(error, ""))


def shows_resource(stage_setting, uri):
    target = stage_setting.stage.closed
    return bool(
        leaks_in(read(stage_setting.callers["token in the group"], uri.format_map(target.ids)), target, ())
    )


def test_hidden_documents_are_not_listed(stage_setting):
    for stem, target in targets(stage_setting).items():
        for caller in tools_of(stage_setting):
            try:
                page = list_resources(call_of(caller), None)
            except (ApiError, APIException) as error:
                page = problem_text(log_problem(error, ""))
            is_told = bool(leaks_in(str(page), target, ()))
            assert not (is_told and stem in caller.hostile_to), caller.name
    assert leaks_in(
        str(list_resources(call_of(stage_setting.callers["token in the group"]), None)),
        stage_setting.stage.closed,
        (),
    )


def test_only_the_tools_scope_admits_a_token(stage_setting, subtests):
    for name in sorted(TOOLS):
        with subtests.test(tool=name):
            answers = {
                scope: call(
                    stage_setting.callers[name_of_scope(scope)],
                    name,
                    TOOL_CALLS[name][0],
                    stage_setting.stage.closed,
                )
                for scope in (None, *TokenScope)
            }
            let_in = {scope for scope, answer in answers.items() if not answer.text.startswith("forbidden: ")}
            assert let_in == {TOOLS[name].need.scope}
