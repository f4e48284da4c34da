"""Addresses of repositories, parsed and checked."""

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, quote, unquote, urlsplit

from django.conf import settings

from ingest.connectors.errors import ListingFailed
from ingest.errors import AddressNotAllowed
from kebab.http_client.connections import AddressRefused, is_explicit_address, resolve_permitted
from kebab.stack.storage.private_places import PrivateFolders

MAX_URL_CHARS: Final = 2_000
_SAFE = re.compile(r"[\x21-\x7e]+")
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_HOST = re.compile(rf"{_NAME}|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*")
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
# git@host:owner/repo.git, see git-clone(1). One letter before the colon is a drive.
_SCP = re.compile(r"(?P<user>[^@/:]+)@(?P<host>[^@/:]{2,}):(?P<path>[^:].*)")


class Transport(StrEnum):
    """The protocol by which git reaches a repository."""

    FILE = "file"
    HTTP = "http"
    HTTPS = "https"
    SSH = "ssh"


_PORTS: Final = {Transport.HTTP: 80, Transport.HTTPS: 443, Transport.SSH: 22, Transport.FILE: 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class GitAddress:
    """The parsed address of a repository."""

    #: in the form for git, without any password
    url: str
    transport: Transport
    #: lower case, an IPv6 address without brackets; "" for a file
    host: str = ""
    port: int = 0
    #: the folder on this machine; for file addresses only
    folder: Path | None = None

    @property
    def name(self) -> str:
        """Return the last part of the path, without `.git`."""
        return re.split(r"[/:]", unquote(self.url).rstrip("/"))[-1].removesuffix(".git")


def parse_address(text: str) -> GitAddress:
    """Parse a repository's address; nothing is resolved or connected. Raises AddressNotAllowed.

    Transports other than file, http, https and ssh are refused: `ext::` runs a program, `git://` does not
    authenticate the host. No message repeats the address, which may contain a password.
    """
    address = text.strip()
    if len(address) > MAX_URL_CHARS or not _SAFE.fullmatch(address):
        raise AddressNotAllowed(
            f"The repository's address must be up to {MAX_URL_CHARS} ASCII characters without spaces;"
            " write others as %20 and the like."
        )
    scp = _SCP.fullmatch(address)
    if scp is not None and "://" not in address and "::" not in address:
        return _parse_ssh(address, user=scp["user"], host=scp["host"], port=None, path=scp["path"])
    try:
        split = urlsplit(address)
        transport, port = Transport(split.scheme.lower()), split.port
    except ValueError as error:
        raise AddressNotAllowed(
            "The repository's address must begin with https://, ssh:// or file://, or look like"
            " git@host:owner/repo.git."
        ) from error
    if transport is Transport.FILE:
        return _parse_file(split)
    if transport is Transport.SSH:
        host = split.hostname or ""
        return _parse_ssh(address, user=unquote(split.username or ""), host=host, port=port, path=split.path)
    return _parse_http(split, transport, port)


def check_address(address: GitAddress) -> None:
    """Check by its text alone that the address may be reached. Raises AddressNotAllowed."""
    if address.transport is Transport.HTTP and address.host not in settings.KEBAB_PRIVATE_HOSTS:
        raise AddressNotAllowed(
            "http sends text and passwords in the clear; use https, or have the operator name the host in"
            " KEBAB_PRIVATE_HOSTS."
        )
    if address.host and is_explicit_address(address.host):
        try:
            resolve_permitted(address.host, address.port, settings.KEBAB_PRIVATE_HOSTS)
        except AddressRefused as error:
            raise AddressNotAllowed(f"The repository's host {error}.") from error


def repository_url(folder: Path) -> str:
    """Return the file URL of the repository in a folder, if it depends on no other. Raises ListingFailed."""
    git_dir = folder / ".git" if (folder / ".git").exists() else folder
    redirections = (git_dir / "commondir", git_dir / "objects" / "info" / "alternates")
    if PrivateFolders.find().contains(folder):
        raise ListingFailed(f"{folder} is where Kebab keeps its own files; no source reads them.")
    if folder.resolve() != folder or git_dir.is_symlink() or not git_dir.is_dir():
        raise ListingFailed(f"{folder} is a link or a worktree; give the repository itself.")
    inside = (path for pattern in ("objects", "objects/*", "objects/*/*") for path in git_dir.glob(pattern))
    if any(file.exists() for file in redirections) or any(path.is_symlink() for path in inside):
        raise ListingFailed(f"{folder} borrows objects from another repository; give one that stands alone.")
    return file_url(git_dir)


def _parse_http(split: SplitResult, transport: Transport, port: int | None) -> GitAddress:
    if split.password is not None:
        raise AddressNotAllowed("Leave the password out of the repository's address; give it as credentials.")
    if split.query or split.fragment:
        raise AddressNotAllowed("A repository's address has no ? and no #.")
    host = _check_host(split.hostname or "")
    if not split.path.strip("/"):
        raise AddressNotAllowed("The repository's address names a host alone; add the path.")
    place = f"[{host}]" if ":" in host else host
    place = place if port is None else f"{place}:{port}"
    return GitAddress(
        url=f"{transport}://{place}{split.path}",
        transport=transport,
        host=host,
        port=port or _PORTS[transport],
    )


def _parse_ssh(url: str, *, user: str, host: str, port: int | None, path: str) -> GitAddress:
    if not _USER.fullmatch(user):
        raise AddressNotAllowed("Name the user in the repository's address, as in ssh://git@host/path.")
    if not path.strip("/") or unquote(path).startswith("-"):
        raise AddressNotAllowed("The repository's address needs a path that doesn't begin with '-'.")
    if "://" in url and urlsplit(url).password is not None:
        raise AddressNotAllowed("Passwords are not supported with ssh; give a private key as credentials.")
    return GitAddress(
        url=url, transport=Transport.SSH, host=_check_host(host), port=port or _PORTS[Transport.SSH]
    )


def _parse_file(split: SplitResult) -> GitAddress:
    path = unquote(split.path)
    if split.netloc.lower() not in {"", "localhost"} or not path.startswith("/") or "\0" in path:
        raise AddressNotAllowed("A file address has an absolute path on the server: file:///srv/repo.git.")
    folder = Path(path)
    return GitAddress(url=file_url(folder), transport=Transport.FILE, folder=folder)


def file_url(folder: Path) -> str:
    """Return the file URL of a repository on this machine."""
    return f"file://{quote(str(folder))}"


def _check_host(host: str) -> str:
    if not _HOST.fullmatch(host):
        raise AddressNotAllowed(
            "The host in the repository's address is none; write it as in git.example.org."
        )
    return host.lower()
