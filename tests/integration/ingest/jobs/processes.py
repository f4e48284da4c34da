"""Workers as separate processes on the test database."""

import os
import subprocess
import sys

from django.conf import settings
from django.db import connection

_SET_UP = """
import sys, django
django.setup()
from django.db import connection
connection.settings_dict["NAME"] = sys.argv[1]
from ingest.tasks import run_job_task
"""
RUN_JOB = f"{_SET_UP}run_job_task(sys.argv[2], sys.argv[3])"


def run_job_in_process(job, *arguments, script=RUN_JOB, **environment):
    """Run the job in another process, and return the exit status.

    `script` finds the ids of workspace and job in `sys.argv[2:4]`, and `arguments` behind them.
    """
    command = [sys.executable, "-c", script if script is RUN_JOB else _SET_UP + script]
    return subprocess.run(
        [*command, connection.settings_dict["NAME"], str(job.workspace_id), str(job.pk), *arguments],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "kebab.settings", **environment},
        cwd=settings.BASE_DIR,
        timeout=60,
        check=False,
    ).returncode
