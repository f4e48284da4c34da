"""Fixtures of backup tests: a workspace with an embedded document in stores of the test's own."""

import pytest

from ingest.checks import leftovers
from ingest.jobs.queue import hints
from kebab.identity.models import Workspace
from kebab.tenancy.roles import owner_connection
from search.mirror.files import MirrorFiles
from search.mirror.sync.sync import sync_mirror
from tests.integration.kebab.stack.databases import create_process
from tests.support.corpus import make_workspace
from tests.support.jobs import embed, upload, work

TEXT = b"# Heron\n\nThe heron stands in the shallows.\n\n## Nest\n\nIt nests in tall trees.\n"


@pytest.fixture(autouse=True)
def _empty_queues(servers):
    queues = ("ingest", "embed", "mirror", "maintenance")
    # Ranked lists that other tests left are those of workspaces that are gone.
    hints._redis().delete(*queues, *hints._redis().scan_iter("kebab:cursor*"))
    yield
    hints._redis().delete(*queues)


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch):
    """Report leftovers at once, as no process of these tests will remove them."""
    monkeypatch.setattr(leftovers, "_PATIENCE_S", 0.0)


@pytest.fixture
def workspace(transactional_db, mirrors, blobs, settings, tmp_path) -> Workspace:
    """Make a workspace with one document, embedded, and its mirror."""
    settings.KEBAB_DATA_DIR = tmp_path
    made = make_workspace()
    assert work(upload(made, "heron.md", TEXT)).state == "succeeded"
    embed(made)
    sync_mirror(MirrorFiles.of(mirrors, made.pk), made.pk)
    return Workspace.objects.get(pk=made.pk)


@pytest.fixture
def execute_as_owner(workspace):
    """Return a function that executes a statement as the owner, without constraints and triggers."""

    def execute(statement: str, *values: object) -> None:
        with owner_connection() as owner:
            owner.execute("SET session_replication_role = replica")
            owner.execute(statement, values)

    return execute


@pytest.fixture
def worker(transactional_db):
    """Create the row of a live worker."""
    return create_process()
