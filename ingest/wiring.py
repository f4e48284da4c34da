"""The extension of the app `ingest`."""

from collections.abc import Iterable

from django.utils.translation import gettext_lazy as _

from ingest.blob_cleanup import needed_blob_names
from ingest.connectors.git.local_copy import delete_repositories
from ingest.errors import IngestError
from ingest.jobs.items.chunk_size import CHUNK_SIZE
from ingest.jobs.queue import queue_metrics
from kebab.contributions import lazy
from kebab.database.transactions import run_on_commit
from kebab.extension import Extension
from kebab.health.checks import CheckResult, DoctorCheck
from kebab.identity.caller import MANAGERS, Need
from kebab.identity.models import Role, Workspace
from kebab.pages.page import Tab

_READ = Need(role=Role.VIEWER, scope="any")


def _check_vectors(repair: bool) -> Iterable[CheckResult]:
    from ingest.jobs.queue.request import request_embedding  # imports parsers and the whole search
    from search.vectors.checks import check_coverage

    return check_coverage(repair, request_embedding)


def _delete_repositories(workspace: Workspace) -> None:
    run_on_commit(delete_repositories, workspace.pk)


EXTENSION = Extension(
    error_trees=(IngestError,),
    preferences=(CHUNK_SIZE,),
    settings_guards=(lazy("ingest.quality_gate.gate.guard_indexing"),),
    settings_followers=(lazy("ingest.quality_gate.gate.rechunk_if_changed"),),
    tabs=(
        Tab(label=_("Sources"), route="sources", icon="database", need=_READ, place=30),
        Tab(
            label=_("Activity"),
            route="activity",
            icon="activity",
            need=_READ,
            place=40,
            count=lazy("ingest.pages.activity.acts.count_attention"),
        ),
        Tab(label=_("Evaluation"), route="evaluation", icon="target", need=MANAGERS, place=55),
    ),
    checks=(
        DoctorCheck(name="embedding", check=_check_vectors),
        DoctorCheck(name="jobs", check=lazy("ingest.checks.jobs.check_jobs")),
        DoctorCheck(
            name="blobs",
            check=lazy("ingest.checks.blobs.check_blobs"),
            thorough=lazy("ingest.checks.blobs.check_all_blobs"),
        ),
        DoctorCheck(name="chunks", check=lazy("ingest.quality_gate.older_chunks.check_chunks")),
        DoctorCheck(name="rows", check=lazy("ingest.checks.leftovers.check_rows")),
        DoctorCheck(name="leftovers", check=lazy("ingest.checks.leftovers.check_leftovers")),
    ),
    init_steps=(
        ("credentials of sources", lazy("ingest.connectors.git.credentials.rotate_credentials")),
        ("copies of trials", lazy("ingest.quality_gate.gate.delete_trial_copies")),
    ),
    collectors=queue_metrics.COLLECTORS,
    status_sections=(
        ("models", lazy("ingest.services.embedding_status.model_rows")),
        ("embedding", lazy("ingest.progress.embedding_rows")),
    ),
    deletion_hooks=(_delete_repositories,),
    document_drawers=(lazy("ingest.renditions.draw.draw_document"),),
    blob_names=(needed_blob_names,),
)
