"""Real git repositories, including ones that git itself would not create."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

_ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


class WrittenRepository:
    """A repository with a working tree."""

    def __init__(self, root: Path, *, branch: str = "main") -> None:
        self.root = root
        root.mkdir(parents=True)
        self.git("init", "--quiet", f"--initial-branch={branch}")

    @property
    def url(self) -> str:
        return f"file://{self.root}"

    def git(self, *arguments: str, given: bytes | None = None) -> str:
        ran = subprocess.run(
            ["git", "-C", str(self.root), *arguments],  # noqa: S607  # whichever git the tests run with
            env=_ENVIRONMENT,
            input=given,
            capture_output=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr.decode()
        return ran.stdout.decode().strip()

    def commit(self, files: Mapping[str, str | bytes | None], *options: str) -> str:
        """Write the files, remove those that are None, commit, and return the commit."""
        for path, content in files.items():
            file = self.root / path
            if content is None:
                file.unlink()
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--allow-empty", "--message=change", *options)
        return self.head()

    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    def blob(self, content: bytes) -> str:
        return self.git("hash-object", "-w", "--stdin", given=content)

    def commit_tree(self, *entries: tuple[str, bytes, str]) -> str:
        """Commit a tree of (mode, name, object) entries, valid or not, and return the commit."""
        tree = self.tree(*entries)
        commit = self.git("commit-tree", tree, "-m", "odd")
        self.git("update-ref", "refs/heads/main", commit)
        return commit

    def tree(self, *entries: tuple[str, bytes, str]) -> str:
        raw = b"".join(
            mode.encode() + b" " + name + b"\0" + bytes.fromhex(oid) for mode, name, oid in entries
        )
        return self.git("hash-object", "-w", "-t", "tree", "--stdin", "--literally", given=raw)
