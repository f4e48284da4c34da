"""Scopes that admit a token to each route, listed independently of the views."""

import pytest

from kebab.identity.models import TokenScope
from tests.security.leaks.callers import name_of_scope
from tests.security.leaks.calls import CALLS
from tests.security.leaks.requests import send_call

# Each scope alone, and none.
_ALONE = (None, *TokenScope)
_ANY = {
    ("api-workspaces", "get"),
    ("api-workspace", "get"),
    ("api-sources", "get"),
    ("api-source", "get"),
    ("api-source-versions", "get"),
    ("api-embedding", "get"),
    ("api-jobs", "get"),
    ("api-job", "get"),
    ("api-job-items", "get"),
    ("api-job-events", "get"),
    ("api-quarantine", "get"),
}
_BY_SCOPE = {
    TokenScope.SEARCH: {
        ("api-search", "get"),
        ("api-search", "post"),
        ("api-search-bulk", "post"),
        ("api-search-several", "post"),
        ("api-dify-retrieval", "post"),
        ("api-openai-stores", "get"),
        ("api-openai-store", "get"),
        ("api-openai-search", "post"),
        ("api-openai-files", "get"),
        ("api-openai-file-content", "get"),
        ("api-openai-store-files", "get"),
        ("api-openai-store-file-content", "get"),
        ("api-suggest", "get"),
        ("api-library-search", "get"),
        ("api-snippet-search", "get"),
        ("api-context", "get"),
        ("api-context-pack", "post"),
        ("api-documents", "get"),
        ("api-document", "get"),
        ("api-document-content", "get"),
        ("api-document-chunks", "get"),
        ("api-document-inspection", "get"),
        ("api-chunk", "get"),
        ("api-feedback", "get"),
        ("api-feedback", "post"),
    },
    TokenScope.INGEST: {
        ("api-documents", "post"),
        ("api-documents-bulk", "post"),
        ("api-openai-files", "post"),
        ("api-openai-file", "get"),
        ("api-openai-file", "delete"),
        ("api-openai-store-files", "post"),
        ("api-openai-store-file", "get"),
        ("api-openai-store-file", "post"),
        ("api-openai-store-file", "delete"),
        ("api-openai-batches", "post"),
        ("api-openai-batch", "get"),
        ("api-openai-batch-cancel", "post"),
        ("api-openai-batch-files", "get"),
        ("api-document-file", "post"),
        ("api-document", "patch"),
        ("api-document", "delete"),
        ("api-sources", "post"),
        ("api-source", "patch"),
        ("api-source", "delete"),
        ("api-source-sync", "post"),
        ("api-source-test", "post"),
        ("api-source-versions", "post"),
        ("api-source-versions", "delete"),
        ("api-job-cancel", "post"),
        ("api-job-retry", "post"),
        ("api-job-dismissal", "post"),
        ("api-quarantined", "delete"),
        ("api-quarantine-retry", "post"),
    },
    TokenScope.MANAGE: {
        ("api-workspace", "patch"),
        ("api-openai-store", "post"),
        ("api-analytics", "get"),
        ("api-query-reviews", "post"),
        ("api-eval-gate", "post"),
        ("api-eval-topics", "get"),
        ("api-eval-topics", "post"),
        ("api-eval-topics", "delete"),
        ("api-eval-topic", "get"),
        ("api-eval-topic", "delete"),
        ("api-eval-topic-sets", "get"),
        ("api-eval-topic-export", "get"),
        ("api-eval-topics-of-feedback", "post"),
        ("api-eval-runs", "get"),
        ("api-eval-runs", "post"),
        ("api-eval-run", "get"),
        ("api-eval-run", "delete"),
        ("api-eval-run-topics", "get"),
        ("api-eval-run-trec", "get"),
        ("api-eval-run-comparison", "get"),
        ("api-embedding", "post"),
        ("api-embedding-switch", "post"),
        ("api-embedding-rollback", "post"),
        ("api-embedding-space", "delete"),
    },
    TokenScope.ASK: {
        ("api-ask", "post"),
        ("api-answers", "get"),
        ("api-answer", "get"),
        ("api-answer", "delete"),
        ("api-answer-check", "get"),
    },
}
_API = {(call.route, call.method): call for call in reversed(CALLS) if call.route.startswith("api-")}


def _sufficient_scopes(route):
    """Return the scopes that suffice alone."""
    return (
        set(TokenScope)
        if route in _ANY
        else {scope for scope, routes in _BY_SCOPE.items() if route in routes}
    )


def test_table_names_existing_routes_only():
    assert _ANY.union(*_BY_SCOPE.values()) <= set(_API)


@pytest.mark.parametrize("subject", sorted({call.subject for call in _API.values()}))
def test_only_the_listed_scopes_admit_a_token(stage_setting, subtests, subject):
    closed = stage_setting.stage.closed
    for route, call in _API.items():
        if call.subject != subject:
            continue
        with subtests.test(route=route):
            answers = {
                scope: send_call(
                    stage_setting.callers[name_of_scope(scope)], call, stage_setting.stage.ours.slug, closed
                )
                for scope in _ALONE
            }
            assert {scope for scope, answer in answers.items() if answer.status != 403} == _sufficient_scopes(
                route
            )
            assert all(answer.status < 500 for answer in answers.values())
            for scope, answer in answers.items():
                assert scope in _sufficient_scopes(route) or not answer.leaks(closed), (
                    scope,
                    answer.text[:300],
                )
