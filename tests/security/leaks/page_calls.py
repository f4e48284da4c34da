"""Calls of the pages and their actions; a part of the registry in `calls`."""

from collections.abc import Iterator

from tests.security.leaks.call import BOTH, NONE, ONLY_THEIRS, Call


def page_calls() -> Iterator[Call]:
    """Return the calls of all pages."""
    yield from _pages()
    yield from _search_pages()
    yield from _document_pages()
    yield from _ask_pages()
    yield from _insight_pages()
    yield from _evaluation_pages()
    yield from _source_pages()
    yield from _people_pages()
    yield from _notification_pages()


def _notification_pages() -> Iterator[Call]:
    hook = {"url": "https://hooks.example.net/", "events": ["document.indexed"]}
    yield Call(route="webhooks")
    yield Call(route="webhooks", method="post", body=hook)
    yield Call(route="webhook")
    for action in ("switch", "test", "deletion"):
        yield Call(route=f"webhook-{action}", method="post", shown=NONE)
    # A saved search belongs to its owner alone.
    yield Call(route="saved-searches", shown=NONE)
    saved = {"name": "x", "notify": "no"}
    for query in ("q={word}", "q=workers&source={sourcekey}"):
        yield Call(route="saved-searches", query=query, shown=NONE)
        yield Call(route="saved-searches", method="post", query=query, body=saved, shown=NONE)
    yield Call(route="saved-search", method="post", body=saved, shown=NONE, controlled=NONE)
    for action in ("deletion", "feed"):
        yield Call(route=f"saved-search-{action}", method="post", shown=NONE, controlled=NONE)


def _search_pages() -> Iterator[Call]:
    yield Call(route="search")
    yield Call(route="search", query="q={word}&mode=lexical")
    yield Call(route="search", query="q={word}&mode=hybrid", compared=NONE)
    yield Call(route="search", query="q={stem}titel&mode=lexical", shown=ONLY_THEIRS)
    for narrowed in (
        "source={source}",
        "source={sourcekey}",
        "tags_any={stem}tag",
        "author={stem}author",
        "doc_id={doc}",
    ):
        yield Call(route="search", query=f"q=workers&mode=lexical&{narrowed}")
    for typed in ("source:{sourcekey}", "tag:{stem}tag", "author:{stem}author"):
        yield Call(route="search", query=f"q=workers {typed}&mode=lexical")
        yield Call(route="search-filters", query=f"q=workers {typed}")
    yield Call(route="search-filters", query="q=workers")
    for narrowed in (
        "source={source}",
        "source={sourcekey}",
        "tags_any={stem}tag",
        "author={stem}author",
        "version={tag}",
    ):
        yield Call(route="search-filters", query=f"q=workers&{narrowed}")
    yield Call(route="search-filters", query="q={word}")
    yield Call(route="search-answer", query="q=the+workers", shown=NONE)
    yield Call(route="search-answer", query="q={word}")
    for narrowed in ("", "&source={source}", "&cursor=00"):
        yield Call(route="search-more", query=f"q=the+workers&mode=lexical{narrowed}", shown=NONE)
    form = {
        "query": "x",
        "source": "{sourcekey}",
        "citation": "{path}",
        "is_relevant": "yes",
        "asked": "k=10",
    }
    yield Call(route="everywhere", shown=NONE)
    yield Call(route="everywhere", query="q={word}&mode=lexical")
    yield Call(route="everywhere", query="q=workers&mode=lexical&source={sourcekey}")
    yield Call(route="search-vote", method="post", body=form, shown=NONE)


def _pages() -> Iterator[Call]:
    yield Call(route="home", shown=ONLY_THEIRS)
    yield Call(route="document")
    yield Call(route="document", query="chunk={chunk}&q={word}")
    drawn = {"doc_id": "pdf", "page": "2"}
    yield Call(route="bookmarks", shown=ONLY_THEIRS)
    yield Call(route="bookmark", method="post", shown=NONE)
    yield Call(route="document-sheet", arguments=drawn, shown=NONE)
    yield Call(route="document-picture", arguments={"doc_id": "picture"}, shown=NONE)


def _insight_pages() -> Iterator[Call]:
    yield Call(route="insight")
    yield Call(route="insight", query="days=7")
    for kind in ("synonyms", "pin", "boost"):
        is_shown = kind != "synonyms"
        yield Call(route="rules", query=f"kind={kind}", shown=BOTH if is_shown else NONE)
    pinned = {"queries": "x", "match": "exact", "documents": "{doc}"}
    yield Call(route="rules", method="post", query="kind=pin", body=pinned, shown=NONE)
    reviewed = {"query": "{stem}asked", "state": "done"}
    yield Call(route="query-review", method="post", body=reviewed, shown=NONE)
    yield Call(route="rule-switch", method="post", query="on=no", shown=NONE)
    yield Call(route="rule-deletion", method="post", shown=NONE)


def _evaluation_pages() -> Iterator[Call]:
    for query in ("", "set={set}"):
        yield Call(route="evaluation", query=query)
    yield Call(route="evaluation-topic-new", query="q=x&place={path}", shown=ONLY_THEIRS)
    form = {"text": "x", "places": "{path}", "topic_set": "fresh"}
    yield Call(route="evaluation-topic-new", method="post", body=form, shown=NONE)
    # An existing id in a set can't be reused: this much is revealed.
    into_set = {"text": "x", "is_unanswerable": "on", "topic_set": "{set}"}
    yield Call(route="evaluation-topic-new", method="post", body=into_set, shown=NONE, compared=ONLY_THEIRS)
    yield Call(route="evaluation-topic-delete", method="post", shown=NONE)
    yield Call(route="evaluation-feedback")
    yield Call(route="evaluation-feedback", method="post", body={}, shown=NONE)
    yield Call(route="evaluation-run-new", query="set={set}")
    form = {"topic_set": "{set}", "mode": "lexical"}
    yield Call(route="evaluation-run-new", method="post", body=form, shown=NONE)
    for query in ("", "baseline={baseline}&measure=nDCG@10"):
        yield Call(route="evaluation-run", query=query)
    yield Call(route="evaluation-run-repeat", method="post", shown=NONE)
    yield Call(route="evaluation-run-delete", method="post", shown=NONE)


def _document_pages() -> Iterator[Call]:
    yield Call(route="document", query="view=source")
    yield Call(route="document-chunks")
    yield Call(route="document-chunks", query="chunk={chunk}")
    yield Call(route="document-chunks", query="chunk={chunk}&q={word}", is_partial=True)


def _people_pages() -> Iterator[Call]:
    yield Call(route="people")
    invited = {"email": "who@example.org", "role": "viewer"}
    yield Call(route="people", method="post", body=invited, shown=NONE)
    yield Call(route="people", method="post", body=invited | {"groups": ["{group}"]}, shown=NONE)
    yield Call(route="person")
    yield Call(route="person", method="post", body={"role": "editor"}, shown=NONE)
    yield Call(route="person-groups", method="post", body={"groups": ["{group}"]}, shown=NONE)
    yield Call(route="person-groups", method="post", body={"offered": ["{group}"]}, shown=NONE)
    yield Call(route="person-removal", method="post", shown=NONE)
    yield Call(route="invitation-withdrawal", method="post", shown=NONE)
    yield Call(route="invitation-again", method="post", shown=NONE)
    yield from _group_and_token_pages()


def _group_and_token_pages() -> Iterator[Call]:
    yield Call(route="groups")
    yield Call(route="groups", method="post", body={"name": "fresh"}, shown=NONE)
    yield Call(route="group")
    yield Call(route="group", method="post", body={"name": "x"}, shown=NONE)
    yield Call(route="group-deletion", method="post", shown=NONE)
    yield Call(route="group-addition", method="post", body={"email": "who@example.org"})
    yield Call(route="group-removal", method="post", shown=NONE)
    yield Call(route="tokens")
    yield Call(route="tokens", method="post", body={"scopes": ["search"]})
    in_group = {"scopes": ["search"], "groups": ["{group}"]}
    yield Call(route="tokens", method="post", body=in_group)
    yield Call(route="token")
    yield Call(route="token", method="post", body={"overlap_minutes": "5"})
    yield Call(route="token-revocation", method="post", shown=NONE)
    yield from _settings_pages()


def _settings_pages() -> Iterator[Call]:
    yield Call(route="person-access")
    yield Call(route="person-access", query="document={doc}")
    yield Call(route="token-access")
    yield Call(route="token-access", query="source={source}")
    yield Call(route="settings", shown=ONLY_THEIRS)
    renamed = {"name": "x", "slug": "brand-new-slug"}
    yield Call(route="settings", method="post", body=renamed, shown=NONE, is_fatal=True)
    for section, body in {"search": {"rrf_k": "5"}, "retention": {"answers_kept_days": "5"}}.items():
        yield Call(route=f"settings-{section}", shown=ONLY_THEIRS)
        yield Call(route=f"settings-{section}", method="post", body=body, shown=NONE, is_fatal=True)
    yield Call(route="settings-embedding", shown=ONLY_THEIRS)
    going_back = {"act": "roll_back"}
    yield Call(route="settings-embedding", method="post", body=going_back, shown=NONE, is_fatal=True)
    yield Call(route="workspace-deletion", shown=ONLY_THEIRS)
    yield Call(
        route="workspace-deletion", method="post", body={"slug": "no"}, shown=ONLY_THEIRS, is_fatal=True
    )
    yield Call(route="audit")
    yield Call(route="audit", query="action=source.")
    yield Call(route="audit-csv")
    yield Call(route="workspaces", shown=ONLY_THEIRS)
    yield Call(route="workspaces", method="post", body={"name": "Brand new"}, shown=NONE)


def _ask_pages() -> Iterator[Call]:
    yield Call(route="ask")
    for narrowed in ({}, {"source": "{sourcekey}"}):
        body = {"question": "{word}", **narrowed}
        yield Call(route="ask", method="post", body=body, shown=NONE, compared=NONE)
    going_on = {"question": "workers", "conversation_id": "{conversation}"}
    yield Call(route="ask", method="post", body=going_on, shown=NONE, controlled=NONE)
    yield Call(route="answer")
    yield Call(route="answer", query="source={sourcekey}")
    yield Call(route="answer", query="format=md")
    yield Call(route="answer", is_partial=True)
    yield Call(route="answer-citation", arguments={"n": "1"})
    yield Call(route="answer-check")
    yield Call(route="answer-delete", method="post", shown=NONE)
    for query in ("", "cursor=x"):
        yield Call(route="answers", query=query, shown=NONE if query else BOTH)
    for query in ("", "format=md"):
        yield Call(route="conversation", query=query, shown=NONE, controlled=NONE)


def _source_pages() -> Iterator[Call]:
    yield Call(route="sources")
    yield Call(route="source")
    yield Call(route="source", query="path={stem}")
    yield Call(route="new-source", shown=NONE)
    form = {
        "title": "fresh",
        "path": "/nowhere",
        "trust": "unknown",
        "is_restricted": "on",
        "readers": "{group}",
    }
    # A site in place of a folder, which this server doesn't offer.
    site = form | {"url": "http://127.0.0.1:9/"}
    yield Call(route="new-source", method="post", query="kind=web", body=site, shown=NONE)
    yield Call(route="new-source", method="post", query="kind=feed", body=site, shown=NONE)
    yield Call(route="source-edit")
    yield Call(route="source-edit", method="post", body=form, shown=NONE)
    yield Call(route="source-sync", method="post", shown=NONE)
    yield Call(route="source-test", method="post", shown=NONE)
    yield Call(route="source-delete", method="post", shown=NONE)
    yield Call(route="version-delete", method="post", body={"tag": "{tag}"}, shown=NONE)
    chosen = {"document": "{doc}", "confirmed": "1"}
    yield Call(route="source-documents-delete", method="post", body=chosen, shown=NONE)
    yield Call(route="upload", query="source={sourcekey}", shown=NONE)
    # An existing key can't be reused: this much is revealed.
    into_key = {"source": "{sourcekey}", "folder": "{stem}", "file": b"# Fresh"}
    yield Call(route="upload", method="post", body=into_key, shown=NONE, compared=ONLY_THEIRS)
    into_source = {"source": "{source}", "file": b"# Fresh"}
    yield Call(route="upload", method="post", body=into_source, shown=NONE)
    yield from _job_pages()


def _job_pages() -> Iterator[Call]:
    yield Call(route="activity")
    yield Call(route="activity", query="show=attention&source={sourcekey}", shown=NONE)
    yield Call(route="act")
    yield Call(route="act", arguments={"job_id": "running"})
    yield Call(route="act-cancel", method="post", shown=NONE)
    yield Call(route="act-retry", method="post", shown=NONE)
    yield Call(route="act-dismiss", method="post", shown=NONE)
    yield Call(route="quarantine")
    yield Call(route="quarantine", query="source={sourcekey}")
    yield Call(route="quarantine-retry", method="post", shown=NONE)
    yield Call(route="quarantine-delete", method="post", shown=NONE)
    yield Call(route="document-mark", method="post", body={"status": "verified"}, shown=NONE)
    replaced = {"status": "outdated", "successor": "{doc}"}
    yield Call(route="document-mark", method="post", body=replaced, shown=NONE)
