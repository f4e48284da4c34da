"""Terminals in which the pages are followed."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kebab.locations import DOCS
from kebab.stack.paths import runtime_directory
from tests.acceptance.documentation.reader import Reader
from tests.acceptance.documentation.terminal import Terminal
from tests.support.stack import Stack, eventually, temporary_directory


@pytest.fixture(scope="package")
def empty_data() -> Iterator[Path]:
    """Create a data directory with a migrated database, of which every page gets a copy."""

    folder = temporary_directory()
    stack = Stack(folder / "data")
    try:
        stack.spawn()
        eventually(lambda: stack.is_ready() or stack.is_ended, "the stack serves", 300)
        stack.stop()
        yield stack.data_dir
    finally:
        stack.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def make_reader(empty_data: Path) -> Iterator[Callable[..., Reader]]:
    """Yield a function that returns a reader with a home, a data directory and a port of their own."""
    folder = temporary_directory()
    terminals = []

    def make(replaced: dict[str, str] | None = None, **environment: str) -> Reader:
        (home := folder / "ada").mkdir()
        terminals.append(Terminal(home, **environment))
        subprocess.run(["/bin/cp", "--archive", empty_data, folder / "data"], check=True)  # with its owners
        shutil.rmtree(folder / "data" / "run")
        return Reader(terminals[0], replaced)

    yield make
    for terminal in terminals:
        terminal.stop()
    shutil.rmtree(runtime_directory(folder / "data"), ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def handbook() -> Path:
    """Return the folder of a made-up company's handbook."""
    return DOCS / "evaluation" / "handbook" / "files"
