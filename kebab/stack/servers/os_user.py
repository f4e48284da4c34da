"""The user that Postgres runs as when we are root, as it refuses to run as root, and who owns its files."""

import json
import os
import pwd
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from kebab.runtime import lifeline
from kebab.runtime.durable_files import replace_text
from kebab.stack.errors import PathRefused
from kebab.stack.supervisor.process_id import ProcessIdentity

_CANDIDATES = ("postgres", "nobody")
_CHECK = (
    'for path in "$@"; do if test -d "$path"; then test -x "$path"; else test -r "$path"; fi || exit 1; done'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A user account of this machine."""

    name: str
    uid: int
    gid: int

    @classmethod
    def find(cls, name: str) -> Self | None:
        """Return the account of that name, None if the machine has none."""
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            return None
        return cls(name=name, uid=found.pw_uid, gid=found.pw_gid)

    def can_reach(self, *paths: Path) -> bool:
        """Return whether this user can read each file and enter each folder, tested by a process of it.

        Modes alone are not enough: access lists, mount options and every parent folder count.
        """
        drop = ["--uid", str(self.uid), "--gid", str(self.gid)]
        tie = ["--signal", "9", "--parent", str(os.getpid())]
        launch = [sys.executable, "-I", "-S", lifeline.__file__, *tie, *drop]
        check = ["/bin/sh", "-c", _CHECK, "sh", *map(str, paths)]
        return subprocess.run([*launch, "--", *check], cwd="/", check=False).returncode == 0


def database_account(wanted: str) -> Account | None:
    """Return the account for Postgres: None if we are not root, else `wanted`, `postgres` or `nobody`.

    Raises:
        PathRefused: the wanted user does not exist, or none of the usual ones does.
    """
    if os.geteuid() != 0:
        return None
    candidates = (wanted,) if wanted else _CANDIDATES
    for name in candidates:
        account = Account.find(name)
        if account is not None and account.uid != 0:
            return account
    raise PathRefused(
        f"Postgres cannot run as root and there is no user {' or '.join(candidates)}; "
        "set KEBAB_POSTGRES_USER to an ordinary user of this machine."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRecord:
    """A server and the process that started it and will stop it."""

    server: ProcessIdentity
    owner: ProcessIdentity

    def is_borrowable(self) -> bool:
        """Return whether the server and its owner run."""
        return self.server.is_alive() and self.owner.is_alive()

    def is_orphan(self) -> bool:
        """Return whether the server runs though its owner has ended."""
        return self.server.is_alive() and not self.owner.is_alive()


def write_record(path: Path, server_pid: int) -> None:
    """Record that this process started the server."""
    server = ProcessIdentity.of(server_pid)
    if server is not None:
        record = ServerRecord(server=server, owner=ProcessIdentity.own())
        replace_text(path, json.dumps(asdict(record)))


def read_record(path: Path) -> ServerRecord | None:
    """Return the last record; None if there is no readable one."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return ServerRecord(
            server=ProcessIdentity(**document["server"]),
            owner=ProcessIdentity(**document["owner"]),
        )
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
