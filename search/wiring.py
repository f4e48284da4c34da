"""Registration of search with kebab's registries: settings, errors, deletion, init steps, checks, reports."""

from collections.abc import Callable, Mapping
from typing import Any

from django.core import checks as system_checks

from kebab.database.on_commit import run_on_commit
from kebab.http.api.errors import register_error_tree
from kebab.http.api.permissions import Need
from kebab.observability.health.checks import CheckResult, lazy_check, register_check
from kebab.pages.tabs import Tab, register_tab
from kebab.people import deletion
from kebab.people.access.report import register_explainer
from kebab.people.groups import register_source_counter
from kebab.people.models import Role, TokenScope, Workspace
from kebab.people.workspace_settings.hooks import SettingsChange, register_guard
from kebab.people.workspace_settings.registry import register_preference
from kebab.runtime import shutdown
from kebab.stack import init_steps, status_sections
from search.access import report
from search.access.restrictions import count_restricted
from search.corpus.blobs import delete_all_blobs
from search.embedders import checks as embedder_checks
from search.embedders.configured import allowed_embedders
from search.engine.cursors import delete_lists
from search.errors import CorpusError
from search.mirror import checks, lag_metrics, local_mirrors
from search.mirror.query.lexical import BREADCRUMB_WEIGHT
from search.mirror.sync.snapshot import STEMMING
from search.models import EmbeddingSpace
from search.query_log.recorder import flush_query_log
from search.query_log.storage import KEPT_DAYS as QUERIES_KEPT_DAYS
from search.query_log.storage import REVIEW
from search.rerank import checks as rerank_checks
from search.retrieval.errors import SearchError
from search.retrieval.fusion.convex import VECTOR_SHARE
from search.retrieval.fusion.document_cap import PRE_RERANK_MAX_PER_FILE
from search.retrieval.fusion.rrf import RRF_K
from search.retrieval.staleness import STALE_AFTER_DAYS
from search.retrieval.types import DEFAULT_K, DEFAULT_SNIPPET_CHARS, MAX_K, Fusion
from search.setting_labels import describe_settings
from search.vectors.index import drop_index_concurrently

SCORE_GATE = 0.05
_SEARCH = Need(role=Role.VIEWER, scope=TokenScope.SEARCH)
_ASK = Need(role=Role.VIEWER, scope=TokenScope.ASK)


def register() -> None:
    """Register everything; called once, when the apps are ready."""
    register_error_tree(SearchError)
    register_error_tree(CorpusError)
    register_preference("default_k", DEFAULT_K, _integer_between(1, MAX_K))
    register_preference("snippet_chars", DEFAULT_SNIPPET_CHARS, _integer_between(1, 10_000))
    register_preference("fusion", Fusion.CONVEX.value, _one_of(*Fusion), ranks=True)
    register_preference("rrf_k", RRF_K, _integer_between(1, 10_000), ranks=True)
    register_preference("vector_share", VECTOR_SHARE, _validate_share, ranks=True)
    register_preference("breadcrumb_weight", BREADCRUMB_WEIGHT, _validate_weight, ranks=True)
    register_preference(STEMMING, True, _validate_boolean)
    register_preference(
        "pre_rerank_max_per_file", PRE_RERANK_MAX_PER_FILE, _integer_between(0, MAX_K), ranks=True
    )
    register_preference("score_gate", SCORE_GATE, _validate_share, ranks=True)
    register_preference("stale_after_days", STALE_AFTER_DAYS, _integer_between(0, 36_500))
    register_preference("answers_kept_days", 0, _integer_between(0, 36_500))
    register_preference(QUERIES_KEPT_DAYS, 90, _integer_between(0, 36_500))
    register_preference("embedder", None, _validate_embedder)
    describe_settings()
    register_tab(Tab(label="Search", route="search", need=_SEARCH, place=10))
    register_tab(Tab(label="Insight", route="insight", need=REVIEW, place=50))
    register_tab(Tab(label="Ask", route="ask", need=_ASK, place=20))
    register_guard(_check_golden_queries)
    shutdown.register_callback(flush_query_log)
    deletion.register(_delete_files_and_indexes)
    register_explainer(report.explain_access)
    register_source_counter(count_restricted)
    init_steps.register("embedding model", embedder_checks.prepare_models)
    init_steps.register("reranker", rerank_checks.refuse_wrong_settings)
    init_steps.register("answers", _refuse_wrong_answer_settings)
    system_checks.register(rerank_checks.check_settings)
    system_checks.register(embedder_checks.check_settings)
    system_checks.register(_check_answer_settings)
    register_check("change log", lazy_check("search.mirror.log_checks.check_log"))
    register_check("mirrors", checks.check_mirrors, thorough=checks.check_all_mirrors)
    register_check("embedding", checks.check_coverage)
    register_check("vector indexes", lazy_check("search.vectors.index_checks.check_vector_indexes"))
    register_check(
        "vector codes",
        lazy_check("search.vectors.quantised_checks.check_codes"),
        thorough=lazy_check("search.vectors.quantised_checks.check_all_codes"),
    )
    register_check("statistics", lazy_check("search.corpus.table_statistics.check_statistics"))
    register_check("models", checks.check_models)
    register_check("embedders", embedder_checks.check_embedders)
    register_check("reranker", rerank_checks.check_reranker)
    register_check("answers", _check_answers)
    status_sections.register("mirrors", checks.mirror_rows)
    lag_metrics.register()


def _check_golden_queries(change: SettingsChange) -> Mapping[str, Any]:
    from search.evaluation.guard import (
        guard_settings,
    )  # it imports all of search: 0.3 s of each start

    return guard_settings(change)


def _check_answers(repair: bool) -> CheckResult:
    from search.answers.model.checks import check_model  # as above

    return check_model(repair)


def _refuse_wrong_answer_settings() -> None:
    from search.answers.model.checks import refuse_wrong_settings  # as above

    refuse_wrong_settings()


def _check_answer_settings(**options: Any) -> list[system_checks.CheckMessage]:
    from search.answers.model.checks import check_settings  # as above

    return check_settings(**options)


def _delete_files_and_indexes(workspace: Workspace) -> None:
    """Delete a workspace's mirror, blobs, result lists and vector indexes after the commit of its deletion.

    Data that can't be reached then, for example in an object store that is down, is found by `kebab doctor`.
    """
    workspace_id = workspace.pk  # by the commit the deleted instance has none
    run_on_commit(local_mirrors.mirror_files(workspace_id).delete_all)
    run_on_commit(delete_all_blobs, workspace_id)
    run_on_commit(delete_lists, workspace_id)
    # Within the transaction this would lock the vectors of all workspaces until the last row is deleted.
    for space in EmbeddingSpace.objects.in_workspace(workspace):
        run_on_commit(drop_index_concurrently, space)


def _integer_between(least: int, most: int) -> Callable[[Any], int]:
    def validate(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"{value!r} is not a whole number from {least} to {most}.")
        return value

    return validate


def _one_of(*choices: str) -> Callable[[Any], str]:
    def validate(value: Any) -> str:
        if value not in tuple(choices):
            raise ValueError(f"{value!r} is not one of {', '.join(choices)}.")
        return str(value)

    return validate


def _validate_embedder(value: Any) -> str:
    return _one_of(*allowed_embedders())(value)


def _validate_boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is not true or false.")
    return value


def _validate_weight(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise ValueError(f"{value!r} is not a number from 0 to 100.")
    return float(value)


def _validate_share(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"{value!r} is not a number from 0 to 1.")
    return float(value)
