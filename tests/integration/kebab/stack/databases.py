"""Statements on an embedded database, as its owner."""

import os
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from kebab.stack.addresses import DATABASE_OWNER, database_url

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root drops to another user")


def ask(data_dir: Path, question: str):
    with closing(psycopg.connect(database_url(data_dir, role=DATABASE_OWNER))) as connection:
        return connection.execute(question).fetchone()[0]


def do(data_dir: Path, statement: str) -> None:
    with psycopg.connect(database_url(data_dir, role=DATABASE_OWNER)) as connection:
        connection.execute(statement)
