"""PostgreSQL's part of a backup: `pg_basebackup` copies the running cluster, its manifest verifies that."""

import hashlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kebab.backup.manifest import BackupFailed
from kebab.stack.configuration import StackConfiguration
from kebab.stack.servers.addresses import DATABASE_OWNER, POSTGRES_PORT, postgres_socket_folder
from kebab.stack.servers.postgres_cluster import wheel_install

_MANIFEST = "backup_manifest"
# The size of a WAL segment; its name consists of the timeline and the position in two halves.
_SEGMENT_BYTES = 16 * 2**20


def copy_cluster(configuration: StackConfiguration, target: Path) -> None:
    """Copy the running cluster, with the WAL that makes the copy consistent. Raises BackupFailed."""
    socket = postgres_socket_folder(configuration.directory.path, configuration.runtime_dir)
    _run_tool(
        "pg_basebackup",
        f"--pgdata={target}",
        f"--host={socket}",
        f"--port={POSTGRES_PORT}",
        f"--username={DATABASE_OWNER}",
        "--no-password",
        "--checkpoint=fast",
        "--wal-method=stream",
        "--manifest-checksums=SHA256",
    )


def check_copy(copy: Path) -> None:
    """Verify the checksum of each file of a copy, and that its WAL is complete. Raises BackupFailed.

    It replaces `pg_verifybackup`, which crashes with a segmentation fault in the wheel.
    """
    manifest = _read_manifest(copy)
    wrong = [path for path, digest in _files(manifest) if not _has_digest(copy / path, digest)]
    if wrong:
        raise BackupFailed(f"{len(wrong)} files of {copy} are not what was copied, such as {wrong[0]}.")
    missing = [name for name in _segments(manifest) if not (copy / "pg_wal" / name).exists()]
    if missing:
        raise BackupFailed(f"{copy} lacks the log {missing[0]}, without which it is not consistent.")


def _read_manifest(copy: Path) -> dict[str, Any]:
    return dict(json.loads((copy / _MANIFEST).read_text(encoding="utf-8")))


def _files(manifest: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for each in manifest["Files"]:
        path = each["Path"] if "Path" in each else bytes.fromhex(each["Encoded-Path"]).decode()
        yield path, each["Checksum"]


def _has_digest(path: Path, digest: str) -> bool:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == digest
    except FileNotFoundError:
        return False


def _segments(manifest: dict[str, Any]) -> list[str]:
    """Return the names of the WAL segments that make the copy consistent, in order."""
    return [
        f"{each['Timeline']:08X}{number * _SEGMENT_BYTES >> 32:08X}{number % 256:08X}"
        for each in manifest["WAL-Ranges"]
        for number in range(
            _segment_number(each["Start-LSN"]), _segment_number(each["End-LSN"], before=1) + 1
        )
    ]


def _segment_number(place: str, *, before: int = 0) -> int:
    """Return the number of the WAL segment with the byte at an LSN, or `before` bytes before it."""
    high, low = (int(part, 16) for part in place.split("/"))
    return ((high << 32) + low - before) // _SEGMENT_BYTES


def _run_tool(tool: str, *arguments: str) -> None:
    program = wheel_install().binaries / tool
    done = subprocess.run([str(program), *arguments], capture_output=True, text=True, check=False, cwd="/")
    if done.returncode:
        raise BackupFailed(f"{tool} ended with status {done.returncode}: {done.stderr.strip()[-2_000:]}")
