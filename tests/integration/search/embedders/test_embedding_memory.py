"""An embedding worker stays below 500 MB, with the default model and a second space to fill."""

import os
import subprocess
import sys

from django.conf import settings as django_settings
from django.db import connection

from ingest.jobs.request import request_embedding
from ingest.reembedding import begin_reembedding
from search.models import EmbeddingSpace
from search.vectors.fill import count_without_vector
from tests.integration.search.embedders.conftest import SECOND
from tests.support.corpus import write
from tests.support.jobs import embed

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
print(re.search("VmHWM:\\\\s+(\\\\d+) kB", pathlib.Path("/proc/self/status").read_text())[1])
"""


def test_a_worker_that_fills_two_spaces_stays_small(workspace, embedders):
    embed(workspace)
    embedders("default", "hash", SECOND)
    for number in range(4):
        write(workspace, f"{number}.md", *(f"{number} {n} " + "memory of a worker, " * 60 for n in range(64)))
    begin_reembedding(workspace, embedder="default", hold=True)
    job = request_embedding(workspace.pk)
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "kebab.settings",
        "KEBAB_EMBEDDER": "default",
        "KEBAB_EMBEDDERS": "hash",
    }
    arguments = [
        sys.executable,
        "-c",
        WORKER,
        connection.settings_dict["NAME"],
        str(workspace.pk),
        str(job.pk),
    ]
    done = subprocess.run(
        arguments, env=environment, cwd=django_settings.BASE_DIR, capture_output=True, timeout=300, check=True
    )
    assert [count_without_vector(space) for space in EmbeddingSpace.objects.all()] == [0, 0]
    assert int(done.stdout.split()[-1]) / 1024 < LIMIT_MB
