"""Targets of `kebab ingest PATH|URL`: a folder, a file, an archive, a repository, a website."""

import argparse
import hashlib
import os
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kebab.cli.client.terminal import Terminal
from kebab.cli.errors import is_utf8
from kebab.cli.output import plain

_MAX_KEY_CHARS = 63
# Hosts where `https://host/owner/repo` is both a repository's page and its address.
_GIT_HOSTS = frozenset({"bitbucket.org", "codeberg.org", "github.com", "gitlab.com"})
# git@host:owner/repo.git, see git-clone(1). One letter before the colon is a drive.
_SCP = re.compile(r"[^@/:]+@[^@/:]{2,}:[^:].*")
_ARCHIVES = (
    *(".tar.bz2", ".tar.gz", ".tar.xz", ".tbz2", ".tbz", ".tgz", ".txz", ".tar", ".zip"),
    *(".tar.zst", ".tar.lz", ".tar.lzma", ".tar.z", ".tzst", ".7z", ".rar"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A source that a server reads by itself, or a file or folder of this machine."""

    #: The kind of source: folder, git or web; upload for a file.
    kind: str
    #: The configuration of the source, as the API takes it.
    config: Mapping[str, Any]
    name: str
    path: Path | None = None

    @property
    def key(self) -> str:
        """Return the key of a source of this name: `my-docs` for `My Docs`."""
        text = unicodedata.normalize("NFKD", self.name).encode("ascii", "ignore").decode().lower()
        key = re.sub(r"[^a-z0-9]+", "-", text).strip("-")[:_MAX_KEY_CHARS].strip("-")
        if key:
            return key
        # A name without Latin letters leaves an empty key; the same folder must get the same key again.
        digest = hashlib.blake2b(os.fsencode(self.path or self.name), digest_size=4)
        return f"{self.kind}-{digest.hexdigest()}"

    def is_read_by(self, source: Mapping[str, Any]) -> bool:
        """Return whether a source of the API reads this target."""
        if source["kind"] != self.kind:
            return False
        return all(_same(source["config"].get(name), value) for name, value in self.config.items())


def target(text: str) -> Target:
    """Return the target at a path or an address: a `type` for arguments. Raises ArgumentTypeError."""
    if _is_git_address(text):
        name = re.split(r"[/:]", text.rstrip("/"))[-1].removesuffix(".git")
        if text.startswith("file://"):
            path = existing_path(text.removeprefix("file://"))
            return Target(kind="git", config={"url": path.as_uri()}, name=name)
        return Target(kind="git", config={"url": text}, name=name)
    if text.lower().startswith(("http://", "https://")):
        return _site(text)
    path = existing_path(text)
    if not path.is_dir():
        return Target(kind="upload", config={}, name="uploads", path=path)
    if not is_utf8(str(path)):  # a source stores its path
        raise argparse.ArgumentTypeError(
            f"{str(path)!r} is not UTF-8, and can't be kept as a source; rename it"
        )
    return Target(kind="folder", config={"path": str(path)}, name=path.name, path=path)


def existing_path(text: str) -> Path:
    """Return the folder or file at a path: a `type` for arguments. Raises ArgumentTypeError."""
    if "://" in text:
        raise argparse.ArgumentTypeError(
            f"{text[:200]!r} is an address that isn't read; give https://, ssh:// or a path"
        )
    if not text.strip():
        raise argparse.ArgumentTypeError("a path is empty; give a folder or a file, . for where you are")
    try:
        resolved = Path(text).expanduser().resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise argparse.ArgumentTypeError(f"{text!r} can't be found; give a folder or a file") from error
    if not (resolved.is_dir() or resolved.is_file()) or not os.access(resolved, os.R_OK):
        raise argparse.ArgumentTypeError(
            f"{str(resolved)!r} can't be read; give a folder or a file that may be"
        )
    return resolved


def existing_folder(text: str) -> Path:
    """Return the folder at a path: a `type` for arguments. Raises ArgumentTypeError."""
    path = existing_path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is not a folder")
    return path


def is_archive(path: Path) -> bool:
    """Return whether a file of this name is an archive."""
    return path.name.lower().endswith(_ARCHIVES)


def _site(text: str) -> Target:
    split = urlsplit(text)
    field = "sitemap" if split.path.lower().endswith((".xml", ".xml.gz")) else "url"
    parts = [*(split.hostname or "").split("."), *filter(None, split.path.split("/"))]
    return Target(kind="web", config={field: text}, name="-".join(parts))


def _is_git_address(text: str) -> bool:
    """Return whether a text looks like a repository's address, by scheme, form, `.git` suffix or host."""
    scheme, _, place = text.lower().partition("://") if "://" in text else ("", "", "")
    if scheme in {"http", "https"}:
        host, *path = place.rstrip("/").split("/")
        return place.rstrip("/").endswith(".git") or (host in _GIT_HOSTS and len(path) == 2)
    return bool(scheme in {"ssh", "file", "git"} or "::" in text or _SCP.fullmatch(text))


def _same(stored: Any, given: Any) -> bool:
    """Return whether a stored value is the given one, of addresses whether they lead to the same place."""
    if stored == given or "://" not in str(given):
        return bool(stored == given)
    return _normalised(str(stored)) == _normalised(str(given))


def _normalised(address: str) -> tuple[str, str, str]:
    split = urlsplit(address)
    return split.netloc.rpartition("@")[2].lower(), split.path.rstrip("/").removesuffix(".git"), split.query


_COUNTS = (
    *("seen", "new", "updated", "unchanged", "skipped", "failed", "deleted"),
    *("chunks", "embedded", "seconds"),
)
_NO_TEXT = "no_text"


def print_report(terminal: Terminal, report: Mapping[str, Any]) -> None:
    """Print the counts of an `ingest_report.v1` on one row, and the reasons behind them."""
    terminal.table(_COUNTS, [{**report, "embedded": report["embedding_calls"]}])
    by_reason = {
        "without text": {_NO_TEXT: report["without_text"]} if report["without_text"] else {},
        "skipped": report["skipped_by_reason"],
        "failed": report["failed_by_reason"],
        "left out of": {kind: counted["documents"] for kind, counted in report["omissions"].items()},
    }
    for what, reasons in by_reason.items():
        for reason, count in sorted(reasons.items()):
            examples = ", ".join(report["examples"].get(reason, [])[:3])
            terminal.print(plain(f"{what} {count} ({reason.replace('_', ' ')}): {examples}"))
            if reason in report["explanations"]:
                terminal.print(plain(f"  {report['explanations'][reason]}"))
    for warning in report["warnings"]:
        terminal.print(plain(warning))
    project_file = report["project_file"]
    for error in () if project_file is None else project_file["errors"]:
        place = f"{project_file['name']}: {error['key']}".removesuffix(": ")
        terminal.print(plain(f"{place}: {error['message']} All of the file is left aside."))
