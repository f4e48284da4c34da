"""The user that Postgres runs as when we are root, as it refuses to run as root."""

import os
import pwd
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from kebab.runtime import lifeline
from kebab.stack.errors import PathRefused

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
