"""Command that runs one job as a worker's process does, and prints its memory.

Run as `python -m tests.security.hostile_files.worker DATABASE WORKSPACE JOB`.
"""

import json
import resource
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import django

#: Limit for parsers that hang; all others have the usual time, however busy the machine.
SECONDS = 2.0


def main(database: str, workspace_id: str, job_id: str) -> None:
    """Run the job and print {"worker_bytes", "parser_bytes"}, the peak memory of each."""
    django.setup()
    from django.db import connection

    from ingest.jobs.items.worker import digester_pool
    from ingest.tasks import run_job_task

    connection.settings_dict["NAME"] = database
    _use_child_with_triggers()
    run_job_task(workspace_id, job_id)
    digester_pool().close()
    connection.close()
    # The maximum of all finished children, and at least this process's size when it started one.
    parser_bytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    json.dump({"worker_bytes": _peak_bytes(), "parser_bytes": parser_bytes}, sys.stdout)


def _use_child_with_triggers() -> None:
    from ingest.digest import digester
    from kebab.sandbox.process import Deadline, Request

    ask = digester.Digester.ask

    def ask_with_deadline(self: digester.Digester, request: Request, read: Any) -> Any:
        path = request.header["path"]
        hangs = "hang" in path and (request.header["first_rung"] == 0 or "once" not in path)
        if hangs:
            request = replace(request, start_deadline=partial(Deadline, SECONDS))
        return ask(self, request, read)

    digester.MODULE = "tests.security.hostile_files.child"
    digester.Digester.ask = ask_with_deadline


def _peak_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
