"""Registry of calls: each address and method, with arguments that refer to hidden objects.

A route or method that is missing here fails `test_every_route_and_method_is_called`.
"""

from collections.abc import Iterator, Sequence

from tests.security.leaks.call import BOTH, NONE, ONLY_THEIRS, Call
from tests.security.leaks.page_calls import page_calls

#: Addresses that reveal nothing of any workspace, by name, with their arguments.
OPEN = {
    "healthz": "a probe",
    "readyz": "a probe",
    "metrics": "counts by route",
    "version": "versions of the software",
    "favicon.ico": "the icon",
    "opensearch": "describes the search for browsers",
    "login": "a form",
    "logout": "ends a session",
    "oidc": "the way to the identity provider",
    "openid_connect_callback": "the way back from it",
    "password-change": "a form",
    "styles": "components, in debug mode",
    "profile": "of the person themselves",
    "profile-theme": "of the person themselves",
    "profile-sessions": "of the person themselves",
    "profile-tokens": "of the person themselves",
    "profile-token-revocation": "of the person themselves",
    "oauth-resource": "describes the server to clients",
    "oauth-resource-mcp": "describes the server to clients",
    "oauth-server": "describes the server to clients",
    "oauth-registration": "of a client itself; tests/security/oauth",
    "oauth-token": "of a client itself; tests/security/oauth",
    "oauth-revocation": "of a client itself; tests/security/oauth",
    "oauth-authorization": "names the person's own workspaces; tests/security/oauth",
    "password-reset": "a form",
    "password-reset-asked": "says that a mail is on its way, if there is such an account",
    "password-reset-form": "a form for who has the link",
    "password-reset-link": "opens a form for who has the link",
    "invitation-link": "opens a page for who has the link",
    "invitation": "a page for who has the link",
    "feed": "a feed for who has the address",
    "api-schema": "a published schema",
    "schema": "the API's description",
    "schema-agent": "a part of the API's description",
    "docs": "the API's description",
    "jobs": "the way to activity",
    "job": "the way to an act",
}


def _people() -> Iterator[Call]:
    yield Call(route="api-status", shown=NONE, controlled=NONE, is_for_operators=True)
    yield Call(route="api-workspaces", shown=ONLY_THEIRS)
    yield Call(route="api-workspaces", query="limit=1", shown=ONLY_THEIRS)
    yield Call(route="api-workspaces", method="post", body={"slug": "brand-new"}, shown=NONE)
    yield Call(route="api-workspace", shown=ONLY_THEIRS)
    yield Call(route="api-workspace", method="patch", body={"name": "x"}, shown=ONLY_THEIRS, is_fatal=True)
    yield Call(route="api-workspace", method="delete", shown=NONE, is_fatal=True)
    yield Call(route="api-members")
    yield Call(
        route="api-members", method="post", body={"email": "who@example.org", "role": "viewer"}, shown=NONE
    )
    yield Call(route="api-member", method="patch", body={"role": "editor"})
    yield Call(route="api-member", method="delete", shown=NONE)
    yield Call(route="api-tokens")
    yield Call(route="api-tokens", method="post", body={"scopes": ["search"]}, shown=NONE)
    yield Call(route="api-token")
    yield Call(route="api-token", method="delete", shown=NONE)
    filtered = {"scopes": ["search"], "filters": {"source": ["{sourcekey}"]}}
    yield Call(route="api-tokens", method="post", body=filtered, shown=NONE)
    in_group = {"scopes": ["search"], "groups": ["{group}"]}
    yield Call(route="api-tokens", method="post", body=in_group, shown=NONE)
    yield Call(route="api-token-rotation", method="post", body={"overlap_minutes": 5})
    yield Call(route="api-groups")
    yield Call(route="api-groups", method="post", body={"name": "fresh"}, shown=NONE)
    yield Call(route="api-group")
    yield Call(route="api-group", method="patch", body={"name": "x"}, shown=NONE)
    yield Call(route="api-group", method="delete", shown=NONE)
    yield Call(route="api-group-member", method="put", shown=NONE)
    yield Call(route="api-group-member", method="delete", shown=NONE)
    yield Call(route="api-invitations")
    invited = {"email": "who@example.org", "role": "viewer"}
    yield Call(route="api-invitations", method="post", body=invited, shown=NONE)
    yield Call(route="api-invitation", method="delete", shown=NONE)
    yield Call(route="api-audit")
    yield Call(route="api-audit", query="action=source.&limit=1")
    for query in (
        "user={user}",
        "token={token}",
        "user={user}&document={doc}",
        "token={token}&source={source}",
    ):
        yield Call(route="api-access", query=query)


def _searches() -> Iterator[Call]:
    lexical = "mode=lexical&explain=true"
    for query in (
        "q={word}",
        "q={stem}*",
        "q={stem}titel",
        "q=workers&why_not={chunk}",
        "q=workers&why_not={doc}",
    ):
        is_shown = query in ("q={word}", "q={stem}*")
        yield Call(route="api-search", query=f"{query}&{lexical}", shown=BOTH if is_shown else NONE)
    for narrowed in (
        "source={source}",
        "source={sourcekey}",
        "doc_id={doc}",
        "tags_any={stem}tag",
        "author={stem}author",
    ):
        yield Call(route="api-search", query=f"q=workers&{narrowed}&{lexical}")
    for typed in (
        "source:{sourcekey}",
        "path:{stem}folder",
        "tag:{stem}tag",
        "author:{stem}author",
        "title:{stem}title",
        "%22{stem}text stands%22",
    ):
        yield Call(route="api-search", query=f"q=workers {typed}&{lexical}")
    for typed in ("-source:{sourcekey}", "-path:{stem}folder/**", "-author:{stem}author", "-{word}"):
        yield Call(route="api-search", query=f"q=workers {typed}&{lexical}", shown=NONE)
    yield Call(route="api-search", query=f"q=workers&version={{tag}}&{lexical}")
    dated = "q=workers&dated_after=2001-01-01T00:00:00Z&dated_before=2101-01-01T00:00:00Z"
    yield Call(route="api-search", query=f"{dated}&doc_id={{doc}}&{lexical}")
    yield Call(route="api-search", query=f"q=workers&path_glob={{stem}}folder/**&{lexical}")
    yield Call(route="api-search", query=f"q=workers&path_not_glob=nowhere/**&{lexical}")
    yield Call(route="api-search", query=f"q=workers&path_not_glob={{stem}}folder/**&{lexical}", shown=NONE)
    yield Call(route="api-search", query=f"q=workers&code_lang=python&{lexical}", shown=NONE)
    yield from _selections(lexical)
    yield Call(route="api-search", query="q={word}&mode=hybrid&explain=true", compared=NONE)
    yield Call(route="api-search", query="q=the+workers&mode=hybrid&k=1&explain=true", shown=NONE)
    for mode in ("lexical", "vector", "hybrid"):
        body = {"q": "workers", "mode": mode, "filters": {"source": ["{source}"], "doc_id": ["{doc}"]}}
        yield Call(route="api-search", method="post", body=body)
    vector_query = {"q": "{word} beside the workers", "mode": "vector", "explain": True, "cutoff": True}
    yield Call(route="api-search", method="post", body=vector_query, compared=NONE)
    yield from _searches_of_several()
    yield from _adapters()
    for typed in ("{stem}", "{word}", "{stem}t", "{stem}h"):
        yield Call(route="api-suggest", query=f"q={typed}")
    yield from _libraries()


def _selections(lexical: str) -> Iterator[Call]:
    full = "include=text&include=metadata&facets=source&facets=author&facets=tags_any&facets=metadata.author"
    yield Call(route="api-search", query=f"q={{word}}&{full}&sort=date&recency=1&{lexical}")
    yield Call(route="api-search", query=f"q=workers&doc_id={{doc}}&{full}&fields=text&fields=metadata")
    yield Call(route="api-search", query=f"q=workers&{full}&fields=rank&{lexical}", shown=NONE)
    yield Call(route="api-search", query='q=workers&mode=lexical&metadata={{"note":"{stem}metadata"}}')
    yield Call(route="api-search", query='q=workers&mode=lexical&metadata={{"note":{{"exists":true}}}}')


def _searches_of_several() -> Iterator[Call]:
    queries = [
        {"q": "{word}", "mode": "lexical"},
        {"q": "workers", "mode": "lexical", "filters": {"source": ["{sourcekey}"]}},
        {"q": "{word}", "mode": "nonsense"},
    ]
    several = {"q": "{word}", "mode": "lexical", "include": ["text", "metadata"]}
    yield Call(route="api-search-several", method="post", body=several)
    narrowed = several | {"filters": {"source": ["{sourcekey}"]}, "group": "document"}
    yield Call(route="api-search-several", method="post", body=narrowed)
    yield Call(route="api-search-bulk", method="post", body={"queries": queries})


def _adapters() -> Iterator[Call]:
    asked = {"query": "{word}", "retrieval_setting": {"top_k": 5}}
    yield Call(
        route="api-dify-retrieval", method="post", body=asked | {"knowledge_id": "{ws}"}, compared=NONE
    )
    yield Call(route="api-openai-stores", shown=ONLY_THEIRS)
    yield Call(route="api-openai-store", shown=ONLY_THEIRS)
    yield Call(route="api-openai-store", method="post", body={}, shown=ONLY_THEIRS)
    yield Call(route="api-openai-search", method="post", body={"query": "{word}"}, compared=NONE)


def _libraries() -> Iterator[Call]:
    for name in ("{stem}", "{stem}sourcetitle", "{stem}description", "{library}", "{word}"):
        yield Call(route="api-library-search", query=f"libraryName={name}&query={{word}}")
        yield Call(route="api-library-search", query=f"libraryName={name}&type=txt")
    for query in ("{word}", "{stem}*", "workers"):
        yield Call(route="api-snippet-search", query=f"libraryId={{library}}&query={query}")
        yield Call(route="api-snippet-search", query=f"libraryId={{library}}@{{tag}}&query={query}")
        yield Call(route="api-context", query=f"libraryId={{library}}&query={query}")
        yield Call(route="api-context", query=f"libraryId={{library}}/{{tag}}&query={query}&type=txt")
    body = {"information_request": "{word}", "mode": "lexical", "expand": {"imports": True}}
    yield Call(route="api-context-pack", method="post", body=body)
    for narrowed in ({"doc_id": ["{doc}"]}, {"source": ["{sourcekey}"]}, {"version": ["{tag}"]}):
        body = {"information_request": "workers", "filters": narrowed}
        yield Call(route="api-context-pack", method="post", body=body)
    by_file = body | {"technical_terms": ["{word}"], "by_file": True, "response_mode": "overview"}
    yield Call(route="api-context-pack", method="post", body=by_file)


def _answers() -> Iterator[Call]:
    for narrowed in ({}, {"source": ["{sourcekey}"]}, {"doc_id": ["{doc}"]}):
        body = {"question": "{word}", "mode": "lexical", "filters": narrowed}
        yield Call(route="api-ask", method="post", body=body)
    yield Call(route="api-ask", method="post", body={"question": "{word} of the workers"}, compared=NONE)
    # A conversation belongs to its asker alone.
    going_on = {"question": "workers", "conversation_id": "{conversation}"}
    yield Call(route="api-ask", method="post", body=going_on, shown=NONE, controlled=NONE)
    for query in ("", "limit=1", "conversation_id={conversation}"):
        yield Call(route="api-answers", query=query)
    for route in ("api-answer", "api-answer-check"):
        yield Call(route=route)
    yield Call(route="api-answer", method="delete", shown=NONE)


def _documents() -> Iterator[Call]:
    for query in (
        "",
        "limit=1",
        "source={source}",
        "source={sourcekey}",
        "path_prefix={stem}",
        "version={tag}",
        "order=path",
        "order=-date",
    ):
        is_shown = query != "limit=1"
        yield Call(route="api-documents", query=query, shown=BOTH if is_shown else NONE)
    new = {"path": "a.md", "text": "a", "source": "{source}"}
    yield Call(route="api-documents", method="post", body=new, shown=NONE)
    # An existing key can't be reused: this much is revealed.
    into_key = {"path": "a.md", "text": "a", "source": "{sourcekey}"}
    yield Call(route="api-documents", method="post", body=into_key, shown=NONE, compared=ONLY_THEIRS)
    documents = {"documents": [new, {"path": "b.md", "text": "b"}]}
    yield Call(route="api-documents-bulk", method="post", body=documents, shown=NONE)
    # Its form has a file, so that here only rights and the content type are checked.
    yield Call(route="api-openai-files", method="post", body={"purpose": "assistants"}, shown=NONE)
    attached = {"file_id": "{doc}", "attributes": {"team": "ops"}}
    yield Call(route="api-openai-store-files", method="post", body=attached)
    yield Call(route="api-openai-files", shown=BOTH)
    yield Call(route="api-openai-store-files")
    named = {"file_id": "doc"}
    yield Call(route="api-openai-store-file", method="post", body={}, arguments=named, shown=ONLY_THEIRS)
    for route in ("api-openai-file-content", "api-openai-store-file-content"):
        yield Call(route=route, arguments=named)
    batch = {"batch_id": "batch"}
    yield Call(route="api-openai-batches", method="post", body={"file_ids": ["{doc}"]}, shown=ONLY_THEIRS)
    yield Call(route="api-openai-batch", arguments=batch, shown=ONLY_THEIRS)
    yield Call(route="api-openai-batch-cancel", method="post", arguments=batch, shown=ONLY_THEIRS)
    yield Call(route="api-openai-batch-files", arguments=batch)
    for route in ("api-openai-file", "api-openai-store-file"):
        yield Call(route=route, arguments={"file_id": "doc"})
        yield Call(route=route, method="delete", arguments={"file_id": "doc"}, shown=NONE)
    yield Call(route="api-document-file", method="post", body=new, shown=NONE)
    yield Call(route="api-document")
    yield Call(route="api-document", method="patch", body={"title": "x"}, shown=NONE)
    marked = {"status": "outdated", "superseded_by": "{doc}"}
    yield Call(route="api-document", method="patch", body=marked, shown=NONE)
    yield Call(route="api-document", method="delete", shown=NONE)
    yield Call(route="api-document-content")
    yield Call(route="api-document-chunks")
    yield Call(route="api-document-chunks", query="limit=1")
    yield Call(route="api-document-inspection")
    yield Call(route="api-chunk", query="context=1")


def _sources() -> Iterator[Call]:
    yield Call(route="api-sources")
    yield Call(route="api-sources", query="limit=1", shown=ONLY_THEIRS)
    yield Call(route="api-sources", method="post", body={"key": "fresh", "kind": "upload"}, shown=NONE)
    taken = {"key": "{sourcekey}", "kind": "upload"}
    yield Call(route="api-sources", method="post", body=taken, shown=NONE, compared=ONLY_THEIRS)
    readers = {"key": "fresh", "kind": "upload", "readers": ["{group}"]}
    yield Call(route="api-sources", method="post", body=readers, shown=NONE)
    yield Call(route="api-source")
    yield Call(route="api-source", method="patch", body={"title": "x"})
    yield Call(route="api-source", method="patch", body={"readers": ["{group}"]})
    yield Call(route="api-source", method="patch", body={"readers": None})
    yield Call(route="api-source", method="delete", shown=NONE)
    yield Call(route="api-source-sync", method="post", shown=NONE)
    yield Call(route="api-source-test", method="post", shown=NONE)
    yield Call(route="api-source-versions")
    yield Call(route="api-source-versions", query="limit=1", shown=NONE)
    yield Call(route="api-source-versions", method="post", body={"tag": "v9"}, shown=NONE)
    yield Call(route="api-source-versions", method="delete", query="tag={tag}", shown=NONE)


def _work() -> Iterator[Call]:
    yield Call(route="api-embedding", shown=ONLY_THEIRS)
    yield Call(route="api-embedding", method="post", body={"hold": True}, shown=NONE)
    yield Call(route="api-embedding-switch", method="post", shown=NONE)
    yield Call(route="api-embedding-rollback", method="post", shown=NONE)
    yield Call(route="api-embedding-space", method="delete", shown=NONE, controlled=ONLY_THEIRS)
    judged = {"settings": {"rrf_k": 61}, "switch": True, "force": True}
    yield Call(route="api-eval-gate", method="post", body=judged, shown=NONE)
    yield Call(route="api-jobs")
    yield Call(route="api-jobs", query="state=failed&kind=ingest_document&limit=1")
    for route in ("api-job", "api-job-items", "api-job-events"):
        yield Call(route=route)
    yield Call(route="api-job-events", arguments={"job_id": "running"})
    yield Call(route="api-job-cancel", method="post", shown=NONE)
    yield Call(route="api-job-retry", method="post", shown=NONE)
    yield Call(route="api-job-dismissal", method="post", shown=NONE)
    yield Call(route="api-quarantine")
    for named in ("{sourcekey}", "{source}"):
        yield Call(route="api-quarantine", query=f"source={named}")
    yield Call(route="api-quarantined", method="delete", shown=NONE)
    yield Call(route="api-quarantine-retry", method="post", shown=NONE)


def _evaluation() -> Iterator[Call]:
    for query in ("", "limit=1", "set={set}"):
        yield Call(route="api-eval-topics", query=query)
    judged = {"topic_id": "x", "query": "x", "judgements": [{"path": "{path}", "source": "{sourcekey}"}]}
    yield Call(route="api-eval-topics", method="post", body={"topics": [judged]}, shown=NONE)
    # An existing id in a set can't be reused: this much is revealed.
    taken = {"set": "{set}", "topics": [{"topic_id": "{topicname}", "query": "x"}]}
    yield Call(route="api-eval-topics", method="post", body=taken, shown=NONE, compared=ONLY_THEIRS)
    yield Call(route="api-eval-topics", method="delete", query="set={set}", shown=NONE)
    yield Call(route="api-eval-topic")
    yield Call(route="api-eval-topic", method="delete", shown=NONE)
    yield Call(route="api-eval-topic-sets")
    for format_ in ("golden", "trec-topics", "trec-qrels", "beir-queries", "beir-qrels"):
        yield Call(route="api-eval-topic-export", query=f"set={{set}}&format={format_}")
    yield Call(route="api-eval-topics-of-feedback", method="post", body={}, shown=NONE)
    feedback = {"query": "x", "source": "{sourcekey}", "citation": "{path}", "is_relevant": True}
    yield Call(route="api-feedback")
    yield Call(route="api-feedback", method="post", body=feedback)
    yield from _runs()


def _runs() -> Iterator[Call]:
    for query in ("", "limit=1", "set={set}&state=succeeded"):
        yield Call(route="api-eval-runs", query=query)
    of_set = {"set": "{set}", "settings": {"mode": "lexical"}}
    yield Call(route="api-eval-runs", method="post", body=of_set, shown=NONE)
    yield Call(route="api-eval-runs", method="post", body={"repeat": "{run}"})
    for route in ("api-eval-run", "api-eval-run-topics", "api-eval-run-trec"):
        yield Call(route=route)
    yield Call(route="api-eval-run", method="delete", shown=NONE)
    for baseline in ("{baseline}", "{run}"):
        yield Call(route="api-eval-run-comparison", query=f"baseline={baseline}&measures=nDCG@10")
    for route in ("api-job", "api-job-items", "api-job-events"):
        is_shown = route != "api-job-items"
        yield Call(route=route, arguments={"job_id": "evaluation"}, shown=BOTH if is_shown else NONE)
    for route in ("api-job-cancel", "api-job-retry"):
        yield Call(route=route, method="post", arguments={"job_id": "evaluation"}, shown=NONE)


def _insight() -> Iterator[Call]:
    for query in ("", "days=7&limit=1"):
        yield Call(route="api-analytics", query=query)
    reviewed = {"query": "{stem}asked", "state": "done"}
    yield Call(route="api-query-reviews", method="post", body=reviewed, shown=NONE)
    yield Call(route="api-bookmarks", shown=NONE)
    yield Call(route="api-bookmark", method="put", shown=NONE)
    yield Call(route="api-bookmark", method="delete", shown=NONE)


def _rules() -> Iterator[Call]:
    yield Call(route="api-rules")
    boost = {"kind": "boost", "field": "source", "value": "{sourcekey}", "factor": 2}
    pin = {"kind": "pin", "queries": ["x"], "documents": ["{doc}"]}
    for rule in (boost, pin):
        yield Call(route="api-rules", method="post", body=rule, shown=NONE, compared=NONE)
    yield Call(route="api-rules", method="put", body={"rules": []}, shown=NONE, is_fatal=True)
    yield Call(route="api-rule", method="patch", body={"note": "x"})
    yield Call(route="api-rule", method="delete", shown=NONE)
    for mode in ("lexical", "hybrid"):
        yield Call(route="api-search", query=f"q={{stem}}pinned&mode={mode}", compared=NONE)


def _notifications() -> Iterator[Call]:
    hook = {"url": "https://hooks.example.net/", "events": ["document.indexed"]}
    yield Call(route="api-webhooks")
    yield Call(route="api-webhooks", method="post", body=hook, shown=NONE)
    yield Call(route="api-webhook")
    yield Call(route="api-webhook", method="patch", body={"is_enabled": False})
    yield Call(route="api-webhook", method="delete", shown=NONE)
    yield Call(route="api-webhook-test", method="post", shown=NONE)
    yield Call(route="api-webhook-deliveries")
    yield Call(route="api-webhook-deliveries", query="state=pending&limit=1")
    # A saved search belongs to its owner alone.
    yield Call(route="api-saved-searches", shown=NONE)
    for narrowed in ({}, {"source": ["{sourcekey}"]}, {"doc_id": ["{doc}"]}):
        searched = {"q": "{word}", "filters": narrowed, "notify": "webhook"}
        yield Call(route="api-saved-searches", method="post", body=searched, shown=NONE)
    yield Call(route="api-saved-search", shown=NONE, controlled=NONE)
    yield Call(route="api-saved-search", method="patch", body={"notify": "no"}, shown=NONE, controlled=NONE)
    yield Call(route="api-saved-search", method="delete", shown=NONE, controlled=NONE)
    yield Call(route="api-saved-search-feed", method="post", shown=NONE, controlled=NONE)
    yield Call(route="api-saved-search-feed", method="delete", shown=NONE, controlled=NONE)


CALLS: Sequence[Call] = (
    *_people(),
    *_notifications(),
    *_searches(),
    *_documents(),
    *_answers(),
    *_sources(),
    *_work(),
    *_evaluation(),
    *_insight(),
    *_rules(),
    *page_calls(),
)
