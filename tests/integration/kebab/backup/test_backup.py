"""A stack is backed up during uploads, lost, and restored."""

import contextlib
import json
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil
import psycopg
import pytest

from kebab.backup.manifest import BackupMissing, choose_backup, list_backups
from kebab.stack.servers.addresses import DATABASE_OWNER, database_url
from kebab.stack.storage.private_places import MARK
from tests.acceptance.client import Client
from tests.support.stack import Stack, eventually, temporary_directory

pytestmark = pytest.mark.slow


@dataclass
class StackWithBackup:
    """A stack with a backup that was made while documents came in, and the setting of a former archive."""

    stack: Stack
    client: Client
    folder: Path
    archive: Path
    report: dict = field(default_factory=dict)

    def upload(self, name: str) -> dict:
        """Upload a document with a unique word, and wait until it is searchable."""
        text = f"# {name}\n\nThe word of it is marker{name}.\n"
        return self.client.upload(f"{name}.md", text, wait_for="searchable")

    def back_up(self, *arguments: str) -> dict:
        done = self.stack.run("backup", str(self.folder), "--json", *arguments, limit_s=300)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def found_names(client: Client, name: str) -> list[str]:
    hits = client.search(f"marker{name}", mode="lexical")["hits"]
    return [hit["doc_path"].removesuffix(".md") for hit in hits if f"marker{name}" in hit["snippet"]]


@contextlib.contextmanager
def uploading_documents(backup: StackWithBackup) -> Iterator[list[str]]:
    """Upload documents, one after the other, beside the block; gives the names of the acknowledged ones."""
    written: list[str] = []
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            name = f"beside{len(written)}"
            backup.upload(name)
            written.append(name)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield written
    finally:
        stop.set()
        thread.join()


def client_of(stack: Stack) -> Client:
    made = stack.run("workspace", "create", "kept", "--json")
    assert made.returncode == 0, made.stderr
    scopes = ("--workspace", "kept", "--scope", "search,ingest", "--json")
    token = json.loads(stack.run("token", "create", *scopes).stdout)["token"]
    return Client(stack.url, "kept", token)


@pytest.fixture(scope="module")
def stack_with_backup() -> Iterator[StackWithBackup]:
    root = temporary_directory()
    stack = Stack(
        root / "data", KEBAB_EMBEDDER="hash", KEBAB_WEB_WORKERS="1", KEBAB_WAL_ARCHIVE=str(root / "archive")
    )
    stack.data_dir.mkdir(mode=0o711)
    try:
        stack.up()
        made = StackWithBackup(stack, client_of(stack), root / "backups", root / "archive")
        made.folder.mkdir(mode=0o755)
        for name in ("first", "second", "third"):
            made.upload(name)
        with uploading_documents(made) as written:
            eventually(lambda: written, "documents come in")
            made.report = made.back_up()
            n_before = len(written)
            eventually(lambda: len(written) > n_before, "and still do")
        yield made
        made.client.close()
    finally:
        with contextlib.suppress(AssertionError):
            stack.stop()
        stack.remove()
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def target(stack_with_backup) -> Iterator[Stack]:
    """Yield a stack without data, to which a backup is restored."""
    folder = temporary_directory()
    stack = Stack(folder, KEBAB_EMBEDDER="hash", KEBAB_WEB_WORKERS="1")
    yield stack
    stack.stop()
    stack.remove()


def restore(target: Stack, backup: StackWithBackup, *arguments: str) -> dict:
    done = target.run("restore", str(backup.folder), "--json", *arguments, limit_s=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_backup_is_whole_and_private(stack_with_backup):
    path = Path(stack_with_backup.report["path"])
    assert sorted(each.name for each in path.iterdir()) == [
        "blobs.txt",
        "manifest.json",
        "postgres",
        "secrets.json",
        "settings.env",
    ]
    assert (path / "secrets.json").stat().st_mode & 0o777 == 0o600
    assert {
        each.stat().st_mode & 0o777 for each in (stack_with_backup.folder, stack_with_backup.folder / "blobs")
    } == {0o700}
    assert (stack_with_backup.folder / MARK).exists()
    assert stack_with_backup.report["blobs"] == len((path / "blobs.txt").read_text().split()) >= 3
    assert stack_with_backup.report["missing_blobs"] == []


def test_second_backup_copies_only_new_bytes_and_old_backups_are_removed(stack_with_backup, tmp_path):
    other = replace(stack_with_backup, folder=tmp_path / "others")
    first = other.back_up()
    stack_with_backup.upload("fresh")
    second = other.back_up("--keep", "1")
    assert (first["copied_blobs"] > 1, second["copied_blobs"]) == (True, 1)
    assert second["removed"] == [Path(first["path"]).name]
    assert [str(each.path) for each in list_backups(other.folder)] == [second["path"]]


def test_killed_backup_is_not_listed_and_the_next_one_removes_it(stack_with_backup, tmp_path):
    folder = tmp_path / "killed"
    process = stack_with_backup.stack.start("backup", str(folder))
    eventually(lambda: list(folder.glob("*.partial")), "the backup has begun", poll_s=0.005)
    os.kill(process.pid, signal.SIGSTOP)  # it gets no further while its children are looked for
    children = psutil.Process(process.pid).children(recursive=True)
    for each in children:
        each.kill()
    process.kill()
    process.wait()
    psutil.wait_procs(children, timeout=30)
    assert list_backups(folder) == []
    with pytest.raises(BackupMissing):
        choose_backup(folder)
    replace(stack_with_backup, folder=folder).back_up()
    assert (len(list_backups(folder)), list(folder.glob("*.partial"))) == (1, [])


def test_backup_restores_the_state_at_its_end(stack_with_backup, target):
    report = restore(target, stack_with_backup)
    assert (report["missing_blobs"], report["damaged_blobs"]) == ([], [])
    target.up()
    client = stack_with_backup.client.at(target.url)
    for name in ("first", "second", "third"):
        eventually(lambda name=name: found_names(client, name) == [name], f"{name} is found")
    # What was due in the backup has been so since then, until a process has looked.
    eventually(lambda: target.run("doctor", "--deep", "--json").returncode == 0, "the doctor is content")
    assert client.upload("new.md", "# New\n\nA markernew.\n", wait_for="searchable")
    client.close()


def test_killed_restore_is_repeatable_and_never_overwrites_data(stack_with_backup, target):
    process = target.start("restore", str(stack_with_backup.folder))
    eventually((target.data_dir / "restoring").exists, "the restore has begun")
    process.kill()
    process.wait()
    refused = target.run("init", "--json")
    assert (refused.returncode, json.loads(refused.stderr)["code"]) == (2, "restore_unfinished")
    restore(target, stack_with_backup)
    assert target.run("init").returncode == 0
    again = target.run("restore", str(stack_with_backup.folder), "--json")
    assert (again.returncode, json.loads(again.stderr)["code"]) == (2, "restore_refused")
    refused = stack_with_backup.stack.run(
        "restore", str(stack_with_backup.folder), "--json"
    )  # where a stack runs
    assert refused.returncode == 2
    assert json.loads(refused.stderr)["code"] in {"stack_already_runs", "restore_refused"}


def test_damaged_backup_is_refused(stack_with_backup, target, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(stack_with_backup.folder, copy, symlinks=True)
    version = next(copy.glob("*/postgres/global/pg_control"))
    content = bytearray(version.read_bytes())
    content[100] ^= 1
    version.write_bytes(content)
    refused = target.run("restore", str(copy), "--json")
    assert refused.returncode == 2
    assert "pg_control" in json.loads(refused.stderr)["message"]
    assert not (target.data_dir / "postgres").exists()


def test_moment_of_an_archive_is_refused_with_its_replacement(stack_with_backup, target):
    refused = target.run("restore", str(stack_with_backup.folder), "--to", "latest", "--json")
    assert refused.returncode == 2
    assert "pgBackRest" in json.loads(refused.stderr)["message"]
    assert not (target.data_dir / "postgres").exists()


def test_log_is_no_longer_archived_and_the_operator_is_told(stack_with_backup):
    with psycopg.connect(database_url(stack_with_backup.stack.data_dir, role=DATABASE_OWNER)) as owner:
        assert owner.execute("SHOW archive_mode").fetchone() == ("off",)
    assert not stack_with_backup.archive.exists()
    assert "KEBAB_WAL_ARCHIVE" in stack_with_backup.stack.log("up")


def test_backup_of_the_former_version_is_restored_and_mirrors_ahead_of_it_are_rebuilt(
    stack_with_backup, target, tmp_path
):
    manifest = Path(stack_with_backup.report["path"]) / "manifest.json"
    former = {"schema_version": "backup.v1", "first_wal": "0" * 24, "archive": str(tmp_path)}
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), **former}))
    stack_with_backup.upload("later")
    ahead = tmp_path / "mirrors"
    shutil.copytree(stack_with_backup.stack.data_dir / "mirrors", ahead)
    target.environment["KEBAB_MIRROR_DIR"] = str(ahead)
    assert restore(target, stack_with_backup, "--backup", manifest.parent.name)["missing_blobs"] == []
    target.up()
    client = stack_with_backup.client.at(target.url)

    def standing() -> list[str]:
        there = [name for name in ("first", "second", "later") if found_names(client, name)]
        assert "later" not in there  # at no time, whatever the mirrors knew
        return there

    eventually(lambda: standing() == ["first", "second"], "the mirror is rebuilt")
    client.upload("anew.md", "# Anew\n\nA markeranew.\n", wait_for="searchable")
    assert found_names(client, "anew") == ["anew"]
    client.close()
