"""What ingest adds to kebab's registries."""

from collections.abc import Iterable, Mapping
from typing import Any

from ingest.blobs import needed_blob_names
from ingest.chunking.types import LEAST_TOKENS, MAX_TOKENS
from ingest.connectors.git.credentials import seal_again
from ingest.connectors.git.place import remove_repositories
from ingest.errors import IngestError
from ingest.jobs import standing
from ingest.jobs.cutting import CHUNK_TOKENS
from kebab.api.errors import register_error_tree
from kebab.api.permissions import Need
from kebab.committed import once_committed
from kebab.health.checks import CheckResult, imported, register_check
from kebab.keeping.blobs import register_blob_names
from kebab.pages.tabs import Tab, register_tab
from kebab.people import deletion
from kebab.people.access import Access
from kebab.people.models import Role, Scope, Workspace
from kebab.people.preferences import describe_preference, register_preference
from kebab.people.setting_guards import SettingsChange, register_follower, register_guard
from kebab.stack import preparation

_EVALUATE = Need(role=Role.ADMIN, scope=Scope.MANAGE)
_READ = Need(role=Role.VIEWER, scope="any")


def register() -> None:
    """Register all of it; called once, when the apps are ready."""
    register_error_tree(IngestError)
    register_preference(CHUNK_TOKENS, MAX_TOKENS, _chunk_tokens)
    register_tab(Tab(label="Evaluation", route="evaluation", need=_EVALUATE, place=55))
    describe_preference(
        CHUNK_TOKENS,
        "Size of chunks",
        f"The most tokens a chunk has, its headings included: {LEAST_TOKENS} to {MAX_TOKENS}. Everything is"
        " cut and indexed anew, in the background.",
    )
    register_guard(_try_in_a_copy)
    register_follower(_index_anew)
    register_tab(Tab(label="Sources", route="sources", need=_READ, place=30))
    register_tab(Tab(label="Jobs", route="jobs", need=_READ, place=40))
    deletion.register(_remove_what_is_not_a_row)
    standing.register()
    preparation.register("credentials of sources", _seal_again)
    register_blob_names(needed_blob_names)
    _register_checks()


def _seal_again() -> None:
    seal_again()


def _register_checks() -> None:
    register_check("embedding", _check_vectors)
    register_check("jobs", imported("ingest.job_checks.check_jobs"))
    deep = imported("ingest.blob_checks.check_all_blobs")
    register_check("blobs", imported("ingest.blob_checks.check_blobs"), thorough=deep)
    register_check("rows", imported("ingest.leftover_checks.check_rows"))
    register_check("leftovers", imported("ingest.leftover_checks.check_leftovers"))


def _check_vectors(repair: bool) -> Iterable[CheckResult]:
    from ingest.jobs.request import request_embedding  # it brings parsers and the whole search along
    from search.vectors.checks import check_coverage

    return check_coverage(repair, request_embedding)


def _remove_what_is_not_a_row(workspace: Workspace) -> None:
    once_committed(remove_repositories, workspace.pk)


def _try_in_a_copy(change: SettingsChange) -> Mapping[str, Any]:
    from ingest.gate import guard_indexing  # it brings parsers and the whole search along

    return guard_indexing(change)


def _index_anew(access: Access, workspace: Workspace, changed: frozenset[str]) -> None:
    from ingest.gate import follow_indexing  # as above

    follow_indexing(access, workspace, changed)


def _chunk_tokens(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not LEAST_TOKENS <= value <= MAX_TOKENS:
        raise ValueError(f"{value!r} is not a whole number from {LEAST_TOKENS} to {MAX_TOKENS}.")
    return value
