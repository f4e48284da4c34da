"""Helpers for embedded servers of other processes, their databases, and rows of processes."""

import os
import subprocess
import sys
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from django.db.models.functions import Now

from kebab.stack.models import ProcessRole, StackProcess
from kebab.stack.servers.addresses import DATABASE_OWNER, database_url

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root drops to another user")


def ask(data_dir: Path, question: str):
    with closing(psycopg.connect(database_url(data_dir, role=DATABASE_OWNER))) as connection:
        return connection.execute(question).fetchone()[0]


def do(data_dir: Path, statement: str) -> None:
    with psycopg.connect(database_url(data_dir, role=DATABASE_OWNER)) as connection:
        connection.execute(statement)


def start_in_another_process(module: str, server: str, data_dir: Path) -> subprocess.Popen[str]:
    """Start a process that runs a server until it is killed, and prints the server's pid."""
    program = (
        f"import sys, pathlib; from kebab.stack.servers.{module} import {server};"
        f"server = {server}(pathlib.Path(sys.argv[1])); server.start();"
        "print(server.pid, flush=True); sys.stdin.read(); server.stop()"
    )
    command = [sys.executable, "-c", program, str(data_dir)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def create_process(role: str = ProcessRole.WORKER, **changes: object) -> StackProcess:
    """Create the row of a live process that began ten minutes ago."""
    values = {
        "node": "here",
        "role": role,
        "name": str(role),
        "pid": 1234,
        "queues": [],
        "started_at": Now() - timedelta(minutes=10),
        "heartbeat_at": Now(),
    }
    return StackProcess.objects.create(**{**values, **changes})
