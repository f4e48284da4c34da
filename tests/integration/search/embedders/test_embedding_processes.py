"""Embedding workers as processes: a killed one, and the memory of one."""

import os
import signal
import subprocess
import sys
from datetime import timedelta

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.db.models.functions import Now

from ingest.jobs.queue.request import request_embedding
from ingest.models import Job
from search.embedders.by_language import has_choice
from search.models import EmbeddingSpace
from search.retrieval.types import Mode
from search.vectors.backfill import count_without_vector
from tests.integration.search.embedders.conftest import FIRST, SECOND
from tests.integration.search.embedders.local_models import kinds
from tests.integration.search.embedders.spaces import build, dims, in_space, open_job, space_in
from tests.support.corpus import write
from tests.support.jobs import embed, work
from tests.support.search import ask, sync

pytestmark = pytest.mark.slow

LIMIT_MB = 500
# As a worker is: Celery's application and the tasks are there. VmHWM begins anew with a program's start.
WORKER = """
import pathlib, re, sys, django
django.setup()
from django.db import connection
connection.settings_dict["NAME"] = sys.argv[1]
from kebab.celery import app
from ingest.tasks import run_embedding_task
app.loader.import_default_modules()
run_embedding_task(sys.argv[2], sys.argv[3])
print(re.search("VmHWM:\\s+(\\d+) kB", pathlib.Path("/proc/self/status").read_text())[1])
"""


def run_worker(job, **environment):
    """Work the job off in another process."""
    names = (connection.settings_dict["NAME"], str(job.workspace_id), str(job.pk))
    return subprocess.run(
        [sys.executable, "-c", WORKER, *names],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "kebab.settings", **environment},
        cwd=django_settings.BASE_DIR,
        capture_output=True,
        timeout=300,
        check=False,
    )


def test_worker_that_fills_two_spaces_stays_small(workspace, embedders):
    embed(workspace)
    embedders("default", FIRST, SECOND)
    for number in range(4):
        write(workspace, f"{number}.md", *(f"{number} {n} " + "memory of a worker, " * 60 for n in range(64)))
    build(workspace, embedder="default", hold=True)
    job = request_embedding(workspace.pk)
    done = run_worker(job, KEBAB_EMBEDDER="default", KEBAB_EMBEDDERS=FIRST)

    assert done.returncode == 0, done.stderr
    assert [count_without_vector(space) for space in EmbeddingSpace.objects.all()] == [0, 0]
    assert int(done.stdout.split()[-1]) / 1024 < LIMIT_MB


def test_killed_build_resumes_after_its_last_stored_batch(filled_workspace, embedded_dims):
    build(filled_workspace, embedder=SECOND)
    job = open_job()
    settings = {"KEBAB_EMBEDDER": FIRST, "KEBAB_EMBEDDERS": SECOND, "KEBAB_FAILPOINT": "after_vectors"}
    assert run_worker(job, **settings).returncode == -signal.SIGKILL
    assert in_space(space_in(filled_workspace, "building")).count() == 64

    Job.objects.update(lease_until=Now() - timedelta(seconds=1), due_at=Now())
    job = work(job)
    assert (job.state, embedded_dims) == ("succeeded", [512] * (150 - 64))
    assert dims(filled_workspace) == {"live": 512, "retired": 64}


@pytest.mark.skipif(not has_choice(), reason="needs both local models")
def test_worker_killed_while_languages_change_the_model_switches_it_once(workspace, embedders):
    embedders("default")
    for n in range(40):
        write(workspace, f"en-{n}.md", f"The canteen opens at noon on day {n}.")
    environment = {"KEBAB_EMBEDDER": "default", "KEBAB_EMBEDDERS": ""}
    assert run_worker(request_embedding(workspace.pk), **environment).returncode == 0
    for n in range(30):
        write(workspace, f"de-{n}.md", f"Die Kantine öffnet am Tag {n} um zwölf.", lang="de")
    sync(workspace)
    job = request_embedding(workspace.pk)
    for point in ("after_claim", "after_vectors", "after_vectors", None):
        done = run_worker(job, **environment, KEBAB_FAILPOINT=point or "")
        assert done.returncode == (0 if point is None else -signal.SIGKILL), done.stderr
        answer = ask(workspace, "When does the canteen open?", Mode.HYBRID)
        assert (answer.degraded, answer.hits[0].doc_path[:3]) == ((), "en-")
        Job.objects.update(lease_until=Now() - timedelta(seconds=1), due_at=Now())

    assert kinds(workspace) == {"live": "multilingual", "retired": "english"}
    for space in EmbeddingSpace.objects.all():
        assert (count_without_vector(space), in_space(space).count()) == (0, 70)
    answer = ask(workspace, "Wann öffnet die Kantine?", Mode.HYBRID)
    assert (answer.degraded, "multilingual-e5-small" in answer.index_version) == ((), True)
