"""The address of a document where it comes from: a web page, or a file on a git host."""

from pathlib import PurePosixPath
from typing import Final
from urllib.parse import quote, urlsplit

from search.models import Document, SourceKind
from search.models.source_kind import STATING_ADDRESSES
from search.pages.document.cited_range import CitedRange

#: Hosts whose addresses of files are known, with what stands before the branch.
_GIT_HOSTS: Final = {"github.com": "blob", "gitlab.com": "-/blob", "codeberg.org": "src/branch"}


def source_link(document: Document, cited: CitedRange) -> str:
    """Return where the document can be opened at its source; '' if that is unknown."""
    if document.source.kind == SourceKind.GIT:
        return _file_on_git_host(document, cited)
    return web_address(document.metadata.get("url")) if document.source.kind in STATING_ADDRESSES else ""


def web_address(value: object) -> str:
    """Return an address that a link may have; '' for any other value."""
    try:
        parts = urlsplit(value) if isinstance(value, str) else None
    except ValueError:
        return ""
    is_web = parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname)
    return str(value) if is_web else ""


def _file_on_git_host(document: Document, cited: CitedRange) -> str:
    address = web_address(document.source.config.get("url"))
    parts = urlsplit(address)
    before = _GIT_HOSTS.get(parts.hostname or "")
    if before is None:
        return ""
    repository = f"https://{parts.hostname}{parts.path.rstrip('/').removesuffix('.git')}"
    if parts.hostname == "github.com" and repository.endswith(".wiki"):
        # The repository of a wiki, whose pages all have their name as address, whatever their folder.
        return f"{repository.removesuffix('.wiki')}/wiki/{quote(PurePosixPath(document.path).stem)}"
    revision = document.version.tag or str(document.source.config.get("branch") or "HEAD")
    lines = f"#L{cited.start}" if cited.start and document.is_read_verbatim else ""
    return f"{repository}/{before}/{quote(revision)}/{quote(document.path)}{lines}"
