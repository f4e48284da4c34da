"""Paths of the stack's files and sockets."""

import contextlib
import hashlib
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from kebab.runtime.durable_files import replace_text
from kebab.stack.errors import PathRefused

#: `sun_path` holds 108 bytes with the closing zero. Postgres refuses more, Redis cuts it off silently.
SOCKET_PATH_LIMIT_BYTES = 107

_PRIVATE = 0o700
# The database user that root drops to has to traverse the folder to its own.
_PRIVATE_TRAVERSABLE = 0o711


class _Below:
    """The path of a file or folder below the data directory."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, directory: "DataDirectory", owner: type | None = None) -> Path:
        return directory.path / self._name


@dataclass(frozen=True, slots=True)
class DataDirectory:
    """The folder named by `KEBAB_DATA_DIR` and the paths in it."""

    path: Path

    #: The folder of the cluster, unless root had to put it elsewhere (`postgres_location`).
    postgres = _Below("postgres")
    #: The text file with the cluster's path if it lies outside the data directory.
    postgres_location = _Below("postgres-location")
    #: The folder of Redis' append-only file and configuration.
    redis = _Below("redis")
    #: The folder of this node's SQLite mirrors.
    mirrors = _Below("mirrors")
    #: The folder of uploaded files.
    blobs = _Below("blobs")
    #: The folder of copies of the git repositories that sources on this node read.
    repositories = _Below("repositories")
    #: The folder of embedding models built or downloaded on this machine.
    models = _Below("models")
    #: The folder of log files, one for each process.
    logs = _Below("logs")
    #: The folder of e-mails, one file each, if no mail server is configured.
    mail = _Below("mail")
    #: The folder of the demo's documents; sources may read it.
    demo = _Below("demo")
    #: The folder of generated benchmark documents; sources may read it.
    bench = _Below("bench")
    #: The folder of locks and of the running stack's state.
    run = _Below("run")
    #: The folder of the running processes' metrics files.
    metrics = _Below("run/metrics")
    #: The file of the embedded stack's secrets.
    secrets = _Below("secrets.json")
    #: The file of a running or killed restore; while it exists nothing else may start.
    unfinished_restore = _Below("restoring")
    #: The lock file that the running stack holds.
    stack_lock = _Below("run/up.lock")
    #: The file of the running stack's state; only a hint, the lock decides.
    stack_state = _Below("run/stack.json")
    #: The file that names the last runtime directory, so that every process uses the same one.
    socket_record = _Below("run/sockets")

    def ensure(self) -> None:
        """Create the missing folders; existing ones retain their mode and owner.

        Raises:
            PathRefused: a folder cannot be created.
        """
        create_folder(self.path, _folder_mode())
        for folder in (
            self.redis,
            self.mirrors,
            self.blobs,
            self.repositories,
            self.models,
            self.logs,
            self.mail,
            self.run,
        ):
            create_folder(folder, _PRIVATE)


def create_folder(path: Path, mode: int) -> bool:
    """Create a folder with exactly this mode; return False, without a change, if it exists.

    Raises:
        PathRefused: the folder cannot be created.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=_PRIVATE)
    except FileExistsError:
        if path.is_dir():
            return False
        raise PathRefused(f"{path} is not a folder; move it away.") from None
    except OSError as error:
        raise PathRefused(f"{path} cannot be made ({error.strerror}); set KEBAB_DATA_DIR.") from error
    path.chmod(mode)  # the umask limits mkdir's own mode
    return True


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode, the same for every path to a file; None if it can't be read."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def data_directory_hash(data_dir: Path) -> str:
    """Return twelve hex digits that identify the resolved path of a data directory."""
    return hashlib.blake2b(os.fsencode(data_dir.resolve()), digest_size=6).hexdigest()


def runtime_directory(data_dir: Path, chosen: str = "") -> Path:
    """Return the short private folder for the sockets of a data directory, without creating or checking it.

    It lies in `chosen` (`KEBAB_RUNTIME_DIR`) if given, else where the stack put it last, else in the user's
    `/run/user/<uid>`, else in the temporary folder.
    """
    name = f"kebab-{data_directory_hash(data_dir)}"
    if chosen:
        return Path(chosen).resolve() / name
    recorded = _recorded_runtime_directory(data_dir)
    if recorded is not None:
        return recorded
    uid = os.geteuid()
    session_folder = Path("/run/user") / str(uid)
    # Root's is not accessible to the database user that root drops to.
    if uid != 0 and _refusal_reason(session_folder) is None:
        return session_folder / name
    return Path(tempfile.gettempdir()) / f"kebab-{uid}-{data_directory_hash(data_dir)}"


def ensure_runtime_directory(data_dir: Path, chosen: str = "") -> Path:
    """Create the runtime directory, check that only we can write it, and record it in the data directory.

    Raises:
        PathRefused: it is a link, belongs to another user or can be written by others.
    """
    path = runtime_directory(data_dir, chosen)
    create_folder(path, _folder_mode())
    refusal = _refusal_reason(path)
    if refusal is not None:
        raise PathRefused(
            f"The socket folder {path} {refusal}; remove it, or set KEBAB_RUNTIME_DIR to your own folder."
        )
    replace_text(DataDirectory(data_dir).socket_record, f"{path}\n")
    return path


def remove_runtime_directory(data_dir: Path, chosen: str = "") -> None:
    """Delete the runtime directory after the servers have stopped; a folder still in use stays."""
    path = runtime_directory(data_dir, chosen)
    for folder in (path / "pg", path):
        with contextlib.suppress(OSError):
            folder.rmdir()


def validate_socket_path(path: Path) -> Path:
    """Return the path unchanged if a socket can have it.

    Raises:
        PathRefused: it is longer than 107 bytes, or contains a comma or a quote.
    """
    # libpq splits hosts at commas; Postgres' list of folders gives both characters a meaning.
    if "," in str(path) or '"' in str(path):
        raise PathRefused(
            f"The socket path {path} holds a comma or a quote; set KEBAB_RUNTIME_DIR without one."
        )
    size_bytes = len(os.fsencode(path))
    if size_bytes > SOCKET_PATH_LIMIT_BYTES:
        raise PathRefused(
            f"The socket path {path} has {size_bytes} bytes, {SOCKET_PATH_LIMIT_BYTES} are possible; "
            "set KEBAB_RUNTIME_DIR to a shorter folder."
        )
    return path


def _recorded_runtime_directory(data_dir: Path) -> Path | None:
    try:
        recorded = Path(DataDirectory(data_dir).socket_record.read_text(encoding="utf-8").strip())
    except OSError:
        return None
    # A copied data directory must not reach for the original's sockets.
    belongs_here = recorded.name.endswith(data_directory_hash(data_dir))
    return recorded if belongs_here and _refusal_reason(recorded) is None else None


def _folder_mode() -> int:
    return _PRIVATE_TRAVERSABLE if os.geteuid() == 0 else _PRIVATE


def _refusal_reason(folder: Path) -> str | None:
    """Return the reason why a folder cannot hold our sockets; None when it can."""
    try:
        found = folder.lstat()
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    if stat.S_ISLNK(found.st_mode):
        return "is a symbolic link"
    if not stat.S_ISDIR(found.st_mode):
        return "is not a folder"
    if found.st_uid != os.geteuid():
        return f"belongs to user {found.st_uid}"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"can be written by others (mode {stat.S_IMODE(found.st_mode):04o})"
    return None
