"""Commands of git are limited by the kernel, and end when their job is cancelled."""

from dataclasses import replace

import psutil
import pytest

from ingest.connectors.git import command, tree
from ingest.connectors.git.command import Git
from ingest.connectors.git.tree import BlobReader
from ingest.errors import JobCancelled
from tests.support.jobs import failure
from tests.support.processes import is_running, wait_until

BLOB = "a" * 40


@pytest.fixture
def git(tmp_path):
    environment = {"PATH": "/usr/bin:/bin", "GIT_CONFIG_GLOBAL": "/dev/null"}
    return Git(git_dir=tmp_path / "a.git", environment=environment, while_waiting=lambda: None)


def test_processes_of_git_have_limits(git, settings):
    settings.KEBAB_GIT_LIMIT_BYTES = 512_000
    limits = git.run("-c", "alias.limits=!ulimit -d; ulimit -f; ulimit -t", "limits", limit_s=9)
    assert limits.split() == [b"1048576", b"2001", b"9"]


@pytest.fixture
def silent_git(tmp_path, monkeypatch):
    """Replace git by a program that answers nothing, and has a child."""
    script = tmp_path / "git"
    script.write_text("#!/bin/sh\nsleep 600 & echo started >&2; wait\n")
    script.chmod(0o755)
    monkeypatch.setattr(command, "git_program", lambda: str(script))


def read_blob(git):
    with BlobReader(git) as reader:
        reader.read(BLOB, 10)


@pytest.mark.parametrize("act", [lambda git: git.run("fetch"), read_blob], ids=["run", "read"])
def test_cancelled_command_ends_with_all_its_processes(git, silent_git, act):
    seen = []

    def cancel_once_started():
        seen[:] = [each for each in psutil.Process().children(recursive=True) if each.name() == "sleep"]
        if seen:
            raise JobCancelled("enough")

    with pytest.raises(JobCancelled):
        act(replace(git, while_waiting=cancel_once_started))
    wait_until(lambda: not any(is_running(each.pid) for each in seen))  # killed ones end a moment later


def test_rest_of_a_large_blob_is_not_unpacked(git, repository, monkeypatch):
    monkeypatch.setattr(tree, "_MAX_DROPPED_BYTES", 1_000)
    large, small = (repository.blob(content) for content in (b"large" * 1_000, b"small"))
    with BlobReader(replace(git, git_dir=repository.root / ".git")) as reader:
        assert reader.read(small, 10) == b"small"
        first = reader._process
        assert reader.read(large, 5) == b"large"
        assert first.returncode is not None
        assert reader.read(small, 3) == b"sma"
        assert reader.read(large, 5_000) == b"large" * 1_000
        assert reader.read(small, 10) == b"small"


def test_repository_with_too_many_references_is_refused(git_source, repository, monkeypatch):
    monkeypatch.setattr("ingest.connectors.git.repository._MAX_REFERENCES_BYTES", 200)
    repository.git("branch", "next")
    repository.git("branch", "last")
    repository.git("branch", "other")
    assert "references" in failure(git_source)
