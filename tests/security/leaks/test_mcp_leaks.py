"""MCP tells nobody of what they may not see: every tool and the resources, called by everybody's tokens."""

from collections.abc import Mapping
from typing import Any

import pytest
from django.test import RequestFactory
from rest_framework.exceptions import APIException

from kebab.http.api.errors import ApiError
from kebab.http.api.problems import log_problem
from kebab.people.models import TokenScope
from search.mcp.call_context import Call
from search.mcp.http import admit_request
from search.mcp.resources import list_resources, read_resource
from search.mcp.tools.registry import TOOLS, answer_call, problem_text
from tests.security.leaks.callers import name_of_scope
from tests.security.leaks.canaries import CLOSED, THEIRS
from tests.security.leaks.looking import Answer, leaks_in, logged, shows

# Of each tool, arguments that aim at what is hidden; ids in braces are the target's.
_CALLS: Mapping[str, list[dict[str, Any]]] = {
    "search": [
        {"query": "{word}", "mode": "lexical"},
        {"query": "'{stem}*'", "mode": "lexical", "detail": "passages"},
        {"query": "{stem}titel", "mode": "lexical"},
        {"query": "workers", "mode": "lexical", "filters": {"source": ["{sourcekey}", "{source}"]}},
        {"query": "workers", "mode": "hybrid", "filters": {"doc_id": "{doc}"}, "detail": "passages"},
        {"query": "workers", "filters": {"version": "{tag}"}, "detail": "titles"},
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
# Neither tells of the documents that it finds, with such arguments.
_SILENT = ({"query": "{stem}titel", "mode": "lexical"},)


def test_every_tool_is_called():
    assert set(_CALLS) == set(TOOLS)


def tools_of(played):
    """Those who have a token, good or bad."""
    return [
        caller for caller in played.callers.values() if "HTTP_AUTHORIZATION" in caller.client._credentials
    ]


def admitted(caller):
    """Return the caller's access, or what they are told who have none."""
    header = caller.client._credentials["HTTP_AUTHORIZATION"]
    request = RequestFactory().post("/mcp", headers={"Authorization": header}, HTTP_HOST="localhost")
    return admit_request(request)


def filled(value, ids):
    if isinstance(value, str):
        return value.format_map(ids)
    if isinstance(value, dict):
        return {name: filled(each, ids) for name, each in value.items()}
    return [filled(each, ids) for each in value] if isinstance(value, list) else value


def named(value, ids):
    """The texts that the call says of the target, by what stands for them."""
    if isinstance(value, str):
        return {value: value.format_map(ids)} | {
            f"{{{name}}}": ids[name] for name in ids if f"{{{name}}}" in value
        }
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return {key: text for each in inner for key, text in named(each, ids).items()}


def call(caller, name, given, target):
    try:
        access = admitted(caller)
    except APIException as error:
        return Answer(status=401, headers={}, text=problem_text(log_problem(error, "")), given={})
    answer = answer_call(TOOLS[name], filled(given, target.ids), Call(access=access))
    return Answer(
        status=400 if answer.is_error else 200, headers={}, text=answer.text, given=named(given, target.ids)
    )


def targets(played):
    return {THEIRS: played.stage.hidden, CLOSED: played.stage.closed}


@pytest.mark.parametrize("name", sorted(_CALLS))
def test_a_tool_answers_of_what_is_hidden_as_of_what_is_missing(played, subtests, name):
    for given in _CALLS[name]:
        for stem, target in targets(played).items():
            for caller in (each for each in tools_of(played) if stem in each.hostile_to):
                with subtests.test(given=given, caller=caller.name):
                    with logged() as lines:
                        hidden = call(caller, name, given, target)
                    absent = call(caller, name, given, target.missing())
                    assert hidden.leaks(target) == []
                    assert [line for line in lines if leaks_in(line, target, hidden.given.values())] == []
                    assert hidden.likeness == absent.likeness


@pytest.mark.parametrize("name", sorted(_CALLS))
def test_who_may_see_it_is_told(played, subtests, name):
    for given in _CALLS[name]:
        for stem, caller in ((THEIRS, "their token"), (CLOSED, "token in the group")):
            with subtests.test(given=given, caller=caller):
                answer = call(played.callers[caller], name, given, targets(played)[stem])
                if "conversation_id" in given:  # that is the asker's alone
                    assert answer.status == 400
                elif given not in _SILENT:
                    assert answer.status == 200, answer.text
                    assert shows(answer, targets(played)[stem]), answer.text


def test_a_resource_that_is_hidden_is_like_one_that_is_missing(played, subtests):
    for uri in _URIS:
        for stem, target in targets(played).items():
            for caller in (each for each in tools_of(played) if stem in each.hostile_to):
                with subtests.test(uri=uri, caller=caller.name):
                    hidden, absent = (
                        read(caller, uri.format_map(each.ids)) for each in (target, target.missing())
                    )
                    assert hidden == absent
                    assert not leaks_in(hidden, target, [uri.format_map(target.ids)])
        assert shows_resource(played, uri)


def read(caller, uri):
    try:
        return read_resource(admitted(caller), uri)
    except (ApiError, APIException) as error:
        return problem_text(log_problem(error, ""))


def shows_resource(played, uri):
    target = played.stage.closed
    return bool(leaks_in(read(played.callers["token in the group"], uri.format_map(target.ids)), target, ()))


def test_hidden_documents_are_not_listed(played):
    for stem, target in targets(played).items():
        for caller in tools_of(played):
            try:
                page = list_resources(admitted(caller), None)
            except (ApiError, APIException) as error:
                page = problem_text(log_problem(error, ""))
            is_told = bool(leaks_in(str(page), target, ()))
            assert not (is_told and stem in caller.hostile_to), caller.name
    assert leaks_in(
        str(list_resources(admitted(played.callers["token in the group"]), None)), played.stage.closed, ()
    )


def test_a_token_is_let_in_by_the_tools_scope_alone(played, subtests):
    for name in sorted(TOOLS):
        with subtests.test(tool=name):
            answers = {
                scope: call(played.callers[name_of_scope(scope)], name, _CALLS[name][0], played.stage.closed)
                for scope in (None, *TokenScope)
            }
            let_in = {scope for scope, answer in answers.items() if not answer.text.startswith("forbidden: ")}
            assert let_in == {TOOLS[name].need.scope}
