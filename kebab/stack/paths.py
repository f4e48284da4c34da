"""Where the stack keeps its files, and where its sockets are."""

import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from kebab.stack.errors import PathRefused

#: `sun_path` holds 108 bytes with the closing zero. Postgres refuses more, Redis cuts it off silently.
SOCKET_PATH_LIMIT_BYTES = 107

_PRIVATE = 0o700
# The database user that root drops to has to walk through to its own folder.
_PRIVATE_BUT_TRAVERSABLE = 0o711


@dataclass(frozen=True, slots=True)
class DataDirectory:
    """The folder named by `KEBAB_DATA_DIR` and the places in it."""

    path: Path

    @property
    def postgres(self) -> Path:
        """Return the database cluster, unless root had to put it elsewhere (`postgres_location`)."""
        return self.path / "postgres"

    @property
    def postgres_location(self) -> Path:
        """Return a text file with the cluster's path when it lies outside the data directory."""
        return self.path / "postgres-location"

    @property
    def redis(self) -> Path:
        """Return the append-only file and configuration of Redis."""
        return self.path / "redis"

    @property
    def mirrors(self) -> Path:
        """Return the SQLite mirrors of this node."""
        return self.path / "mirrors"

    @property
    def blobs(self) -> Path:
        """Uploaded files."""
        return self.path / "blobs"

    @property
    def repositories(self) -> Path:
        """Copies of the git repositories that sources on this node read."""
        return self.path / "repositories"

    @property
    def models(self) -> Path:
        """Embedding models made or fetched on this machine."""
        return self.path / "models"

    @property
    def logs(self) -> Path:
        """One log file for each process."""
        return self.path / "logs"

    @property
    def mail(self) -> Path:
        """E-mails, one file each, where no mail server is named."""
        return self.path / "mail"

    @property
    def demo(self) -> Path:
        """Return what the demonstration shows; sources may read it."""
        return self.path / "demo"

    @property
    def bench(self) -> Path:
        """Text made up to be measured with; sources may read it."""
        return self.path / "bench"

    @property
    def run(self) -> Path:
        """Locks and the state of the running stack."""
        return self.path / "run"

    @property
    def metrics(self) -> Path:
        """Return what the running processes count."""
        return self.run / "metrics"

    @property
    def secrets(self) -> Path:
        """Return the secrets of the embedded stack."""
        return self.path / "secrets.json"

    @property
    def unfinished_restore(self) -> Path:
        """There while a restore is under way, or was killed: then nothing else may start."""
        return self.path / "restoring"

    @property
    def stack_lock(self) -> Path:
        """Return the lock that the running stack holds."""
        return self.run / "up.lock"

    @property
    def stack_state(self) -> Path:
        """Return what the running stack says about itself; a hint, the lock decides."""
        return self.run / "stack.json"

    @property
    def socket_record(self) -> Path:
        """Return which runtime directory was used last, so that every process looks in the same one."""
        return self.run / "sockets"

    def ensure(self) -> None:
        """Make the folders that are missing; what exists keeps its mode and owner.

        Raises:
            PathRefused: a folder cannot be made.
        """
        make_folder(self.path, _own_mode())
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
            make_folder(folder, _PRIVATE)


def make_folder(path: Path, mode: int) -> bool:
    """Make a folder with exactly this mode; False when it was there, and then it is left alone.

    Raises:
        PathRefused: the folder cannot be made.
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
    path.chmod(mode)  # mkdir's own mode is cut by the umask
    return True


def identity_of(path: Path) -> tuple[int, int] | None:
    """Return device and inode, which are one however a file is reached; None if it can't be read."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def data_directory_hash(data_dir: Path) -> str:
    """Twelve hex digits that stand for the resolved path of a data directory."""
    return hashlib.blake2b(os.fsencode(data_dir.resolve()), digest_size=6).hexdigest()


def runtime_directory(data_dir: Path, chosen: str = "") -> Path:
    """Return the short private folder for the sockets of a data directory; nothing is made or checked.

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
    # Root's is closed to the database user that root drops to.
    if uid != 0 and _refusal(session_folder) is None:
        return session_folder / name
    return Path(tempfile.gettempdir()) / f"kebab-{uid}-{data_directory_hash(data_dir)}"


def ensure_runtime_directory(data_dir: Path, chosen: str = "") -> Path:
    """Make the runtime directory, check that nobody else can touch it, and remember it in the data directory.

    Raises:
        PathRefused: it is a link, belongs to someone else or can be written by others.
    """
    path = runtime_directory(data_dir, chosen)
    make_folder(path, _own_mode())
    refusal = _refusal(path)
    if refusal is not None:
        raise PathRefused(
            f"The socket folder {path} {refusal}; remove it, or set KEBAB_RUNTIME_DIR to your own folder."
        )
    replace_text(DataDirectory(data_dir).socket_record, f"{path}\n")
    return path


def remove_runtime_directory(data_dir: Path, chosen: str = "") -> None:
    """Remove the runtime directory after the servers have stopped; what is still in use stays."""
    path = runtime_directory(data_dir, chosen)
    for folder in (path / "pg", path):
        with contextlib.suppress(OSError):
            folder.rmdir()


def checked_socket_path(path: Path) -> Path:
    """Return the path itself when a socket can have it.

    Raises:
        PathRefused: it is longer than 107 bytes, or holds a comma or a quote.
    """
    # To libpq a comma separates hosts, to Postgres both have a meaning in its list of folders.
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


def replace_text(path: Path, text: str) -> None:
    """Write a file, readable only by us, that is there whole or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def copy_whole(source: Path, target: Path) -> None:
    """Copy a file so that it is there whole or not at all, also after a power cut."""
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with source.open("rb") as read, draft.open("wb") as written:
            shutil.copyfileobj(read, written, 1_000_000)
            written.flush()
            os.fsync(written.fileno())
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _recorded_runtime_directory(data_dir: Path) -> Path | None:
    try:
        recorded = Path(DataDirectory(data_dir).socket_record.read_text(encoding="utf-8").strip())
    except OSError:
        return None
    # A copied data directory must not reach for the original's sockets.
    belongs_here = recorded.name.endswith(data_directory_hash(data_dir))
    return recorded if belongs_here and _refusal(recorded) is None else None


def _own_mode() -> int:
    return _PRIVATE_BUT_TRAVERSABLE if os.geteuid() == 0 else _PRIVATE


def _refusal(folder: Path) -> str | None:
    """Return why a folder cannot hold our sockets; None when it can."""
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
