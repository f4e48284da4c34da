"""The extension of the app `search`."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from kebab.contributions import lazy
from kebab.database.transactions import run_on_commit
from kebab.extension import Extension
from kebab.health.checks import DoctorCheck
from kebab.identity.caller import Need
from kebab.identity.models import Role, TokenScope, Workspace
from kebab.pages.page import Tab
from search.access.report import explain_access
from search.access.restrictions import count_restricted
from search.corpus.blobs import delete_all_blobs
from search.engine.cursors import delete_lists
from search.errors import CorpusError
from search.mirror import checks, lag_metrics, local_mirrors
from search.models import EmbeddingSpace
from search.query_log.recorder import flush_query_log
from search.query_log.storage import REVIEW
from search.retrieval.errors import SearchError
from search.retrieval.query.filter_codec import filters_from_json, filters_to_json
from search.settings.preferences import PREFERENCES
from search.vectors.index import drop_index_concurrently

_SEARCH = Need(role=Role.VIEWER, scope=TokenScope.SEARCH)
_ASK = Need(role=Role.VIEWER, scope=TokenScope.ASK)


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


def _read_filters(given: Any) -> dict[str, Any]:
    """Return search filters in their canonical form. Raises InvalidFilter."""
    return filters_to_json(filters_from_json(given))


EXTENSION = Extension(
    filter_readers=(_read_filters,),
    error_trees=(SearchError, CorpusError),
    preferences=PREFERENCES,
    settings_guards=(lazy("search.evaluation.guard.guard_settings"),),
    tabs=(
        Tab(label=_("Search"), route="search", icon="search", need=_SEARCH, place=10),
        Tab(label=_("Ask"), route="ask", icon="sparkles", need=_ASK, place=20),
        Tab(label=_("Bookmarks"), route="bookmarks", icon="bookmark", need=_SEARCH, place=25),
        Tab(label=_("Insight"), route="insight", icon="chart-column", need=REVIEW, place=50),
    ),
    checks=(
        DoctorCheck(name="change log", check=lazy("search.mirror.log_checks.check_log")),
        DoctorCheck(name="mirrors", check=checks.check_mirrors, thorough=checks.check_all_mirrors),
        DoctorCheck(name="embedding", check=checks.check_coverage),
        DoctorCheck(name="vector indexes", check=lazy("search.vectors.index_checks.check_vector_indexes")),
        DoctorCheck(
            name="vector codes",
            check=lazy("search.vectors.quantised_checks.check_codes"),
            thorough=lazy("search.vectors.quantised_checks.check_all_codes"),
        ),
        DoctorCheck(name="statistics", check=lazy("search.corpus.table_statistics.check_statistics")),
        DoctorCheck(name="models", check=checks.check_models),
        DoctorCheck(name="embedders", check=lazy("search.embedders.checks.check_embedders")),
        DoctorCheck(name="reranker", check=lazy("search.rerank.checks.check_reranker")),
        DoctorCheck(name="answers", check=lazy("search.answers.model.configured.check_model")),
    ),
    start_remarks=(lazy("search.embedders.checks.remark_on_model"),),
    early_init_steps=(("embedding model", lazy("search.embedders.checks.prepare_models")),),
    init_steps=(
        ("reranker", lazy("search.rerank.checks.refuse_wrong_settings")),
        ("answers", lazy("search.answers.model.configured.refuse_wrong_settings")),
    ),
    status_sections=(("mirrors", checks.mirror_rows),),
    collectors=lag_metrics.COLLECTORS,
    deletion_hooks=(_delete_files_and_indexes,),
    shutdown_callbacks=(flush_query_log,),
    access_explainers=(explain_access,),
    source_counters=(count_restricted,),
)
