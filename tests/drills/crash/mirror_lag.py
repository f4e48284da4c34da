"""Scene: a mirror lags while documents are replaced and deleted, and searches show the state in Postgres.

Holding the writer's lock keeps a mirror from syncing.
"""

from collections.abc import Iterator

import httpx

from search.mirror.files import MirrorFiles
from tests.drills.crash.siege import texts
from tests.drills.crash.tenant import Tenant
from tests.support.patience import patiently
from tests.support.stack import Stack, eventually

_LOCK_LIMIT_S = 20.0
_DELETED, _REPLACED, _LEFT = 1, 2, 3


def search_behind(stack: Stack) -> Iterator[str]:
    """Play the scene, and yield the violations. Raises GaveUp."""
    tenant = Tenant(stack.url, "lagging", [])
    ids = {number: _upload(tenant, number, 1) for number in (_DELETED, _REPLACED, _LEFT)}
    eventually(lambda: not patiently(tenant.has_open_jobs), "the documents are ingested")
    eventually(lambda: patiently(tenant.is_searchable), "the documents are searchable")
    files = MirrorFiles.of(stack.data_dir / "mirrors", tenant.workspace.pk)
    with files.write_lock(_LOCK_LIMIT_S):
        tenant.delete(ids[_DELETED]).raise_for_status()
        _upload(tenant, _REPLACED, 2)
        eventually(lambda: not patiently(tenant.has_open_jobs), "the new text is ingested")
        yield from _wrong_revisions(tenant, {_DELETED: set(), _REPLACED: set(), _LEFT: {1}})
    eventually(lambda: patiently(tenant.is_searchable), "the mirror has caught up")
    yield from _wrong_revisions(tenant, {_DELETED: set(), _REPLACED: {2}, _LEFT: {1}})


def _upload(tenant: Tenant, number: int, revision: int) -> str:
    text = f"# Note\n\n{texts.key_word(number)} {texts.revision_word(number, revision)}\n"
    answer: httpx.Response = tenant.upload(f"{number}.md", text).raise_for_status()
    id_: str = answer.json()["document"]["id"]
    return id_


def _wrong_revisions(tenant: Tenant, expected: dict[int, set[int]]) -> Iterator[str]:
    """Yield the documents whose shown revisions differ from the expected ones."""
    for number, revisions in expected.items():
        answer = tenant.search(texts.key_word(number), mode="lexical").raise_for_status().json()
        shown = texts.revision_words(" ".join(hit["snippet"] for hit in answer["hits"]))
        words = {texts.revision_word(number, revision) for revision in revisions}
        if shown != words:
            yield f"document {number} shows {sorted(shown)}, not {sorted(words)}, lag {answer['lag']}"
