"""Entries of the ingest app in kebab's registries."""

from collections.abc import Iterable, Mapping
from typing import Any

from ingest.blob_cleanup import needed_blob_names
from ingest.chunking.types import LEAST_TOKENS, MAX_TOKENS
from ingest.connectors.git.credentials import rotate_credentials
from ingest.connectors.git.local_copy import delete_repositories
from ingest.errors import IngestError
from ingest.jobs.items.chunk_size import CHUNK_TOKENS
from ingest.jobs.queue import queue_metrics
from kebab.backup.blobs import register_blob_names
from kebab.database.on_commit import run_on_commit
from kebab.http.api.errors import register_error_tree
from kebab.http.api.permissions import Need
from kebab.observability.health.checks import CheckResult, lazy_check, register_check
from kebab.pages.tabs import Tab, register_tab
from kebab.people import deletion
from kebab.people.access.caller import Access
from kebab.people.models import Role, TokenScope, Workspace
from kebab.people.workspace_settings.hooks import SettingsChange, register_follower, register_guard
from kebab.people.workspace_settings.registry import describe_preference, register_preference
from kebab.stack import init_steps

_EVALUATE = Need(role=Role.ADMIN, scope=TokenScope.MANAGE)
_READ = Need(role=Role.VIEWER, scope="any")


def register() -> None:
    """Register errors, settings, tabs, checks and metrics; called once, when the apps are ready."""
    register_error_tree(IngestError)
    register_preference(CHUNK_TOKENS, MAX_TOKENS, _validate_chunk_tokens)
    register_tab(Tab(label="Evaluation", route="evaluation", need=_EVALUATE, place=55))
    describe_preference(
        CHUNK_TOKENS,
        "Size of chunks",
        f"The most tokens a chunk has, its headings included: {LEAST_TOKENS} to {MAX_TOKENS}. Everything is"
        " cut and indexed anew, in the background.",
    )
    register_guard(_guard_indexing)
    register_follower(_rechunk_if_changed)
    register_tab(Tab(label="Sources", route="sources", need=_READ, place=30))
    register_tab(Tab(label="Jobs", route="jobs", need=_READ, place=40))
    deletion.register(_delete_repositories)
    queue_metrics.register()
    init_steps.register("credentials of sources", _rotate_credentials)
    register_blob_names(needed_blob_names)
    _register_checks()


def _rotate_credentials() -> None:
    rotate_credentials()


def _register_checks() -> None:
    register_check("embedding", _check_vectors)
    register_check("jobs", lazy_check("ingest.checks.jobs.check_jobs"))
    deep = lazy_check("ingest.checks.blobs.check_all_blobs")
    register_check("blobs", lazy_check("ingest.checks.blobs.check_blobs"), thorough=deep)
    register_check("rows", lazy_check("ingest.checks.leftovers.check_rows"))
    register_check("leftovers", lazy_check("ingest.checks.leftovers.check_leftovers"))


def _check_vectors(repair: bool) -> Iterable[CheckResult]:
    from ingest.jobs.queue.request import request_embedding  # imports parsers and the whole search
    from search.vectors.checks import check_coverage

    return check_coverage(repair, request_embedding)


def _delete_repositories(workspace: Workspace) -> None:
    run_on_commit(delete_repositories, workspace.pk)


def _guard_indexing(change: SettingsChange) -> Mapping[str, Any]:
    from ingest.quality_gate.gate import guard_indexing  # imports parsers and the whole search

    return guard_indexing(change)


def _rechunk_if_changed(access: Access, workspace: Workspace, changed: frozenset[str]) -> None:
    from ingest.quality_gate.gate import rechunk_if_changed  # as above

    rechunk_if_changed(access, workspace, changed)


def _validate_chunk_tokens(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not LEAST_TOKENS <= value <= MAX_TOKENS:
        raise ValueError(f"{value!r} is not a whole number from {LEAST_TOKENS} to {MAX_TOKENS}.")
    return value
