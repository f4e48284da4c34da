import threading

import pytest
from django.db import connection

from ingest.jobs.queue.run import run_job
from ingest.models import UPLOAD_KINDS, Job
from kebab.identity.models import Role, Workspace
from kebab.tenancy.current_workspace import acting_everywhere
from tests.pages.search.shelf import make_member


@pytest.fixture(autouse=True)
def _stores(blobs, mirrors):
    """Keep blobs and mirrors in the test's own folder."""


@pytest.fixture
def workspace(db):
    return Workspace.objects.create(slug="handbook", name="Team handbook")


@pytest.fixture
def viewer(workspace):
    return make_member(workspace, "vera@example.org")


@pytest.fixture
def editor(workspace):
    return make_member(workspace, "ed@example.org", Role.EDITOR)


@pytest.fixture
def admin(workspace):
    return make_member(workspace, "ann@example.org", Role.ADMIN)


@pytest.fixture
def visit(client):
    """Return a function that opens a browser without JavaScript in which a person is logged in."""

    def visit(person):
        client.force_login(person)
        return client

    return visit


@pytest.fixture
def worker(transactional_db):
    """Run the jobs that come in, as a worker beside the web process."""
    done = threading.Event()

    def run():
        try:
            with acting_everywhere():
                while not done.wait(0.05):
                    for job in Job.objects.filter(state="queued", kind__in=UPLOAD_KINDS):
                        run_job(job.workspace_id, job.pk)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    yield
    done.set()
    thread.join()
