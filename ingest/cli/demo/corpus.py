"""Documents of the demonstration: a made-up handbook, Kebab's documentation, the READMEs of its packages."""

import re
from collections.abc import Iterator, Mapping
from importlib.metadata import distributions
from pathlib import Path
from typing import Final

#: The made-up handbook that searches are evaluated with; files of other kinds beside this module add to it.
HANDBOOK: Final = "docs/evaluation/handbook/files"
_OTHER_KINDS: Final = Path(__file__).parent / "handbook"
_EVALUATION: Final = "docs/evaluation/handbook"
_NAME: Final = re.compile("[^a-z0-9]+")
_SUFFIXES: Final = {"text/markdown": "md", "text/x-rst": "rst", "text/plain": "txt"}
# Underlines, directives and literal blocks of reStructuredText, the type of descriptions that state none.
_RST: Final = re.compile(r"^(?:([=~\-*#^\"]){3,}[ \t]*$|\.\. )|::[ \t]*$", re.MULTILINE)
_MARKDOWN: Final = re.compile(r"^(?:#{1,6} \S|```|~~~)|\]\(https?://", re.MULTILINE)
# A heading of either format at the start; not a picture, a badge or a link.
_TITLE: Final = re.compile(
    r"(?:[=~\-*#]{3,}[ \t]*\n)?(?:#[ \t]+)?(?P<title>[^\s.|!<#=][^\n]*)"
    r"(?P<rule>\n[=~\-*#]{3,}[ \t]*(?:\n|\Z))?"
)
# First headings that name a part of a text instead of its subject.
_PARTS: Final = frozenset({"about", "installation", "installing", "introduction", "overview", "usage"})


def write_corpus(folder: Path, project: Path) -> int:
    """Make `folder` hold exactly the demonstration's documents, and return their number.

    Unchanged files are not written again, so that a second ingestion has nothing to do.
    """
    texts = {
        **_handbook(project),
        **_own_documents(project),
        **{path: text.encode("utf-8", "replace") for path, text in _descriptions()},
    }
    for path, text in texts.items():
        _write(folder / path, text)
    for present in folder.rglob("*"):
        if present.is_file() and present.relative_to(folder).as_posix() not in texts:
            present.unlink()
    return len(texts)


def _handbook(project: Path) -> Mapping[str, bytes]:
    return {
        f"handbook/{file.relative_to(folder).as_posix()}": file.read_bytes()
        for folder in (project / HANDBOOK, _OTHER_KINDS)
        for file in sorted(folder.rglob("*.*"))
        if file.is_file()
    }


def _own_documents(project: Path) -> Mapping[str, bytes]:
    # Not the README: it quotes a search of the demonstration, which would find itself first.
    handbook = project / _EVALUATION
    files = (file for file in (project / "docs").rglob("*.md") if not file.is_relative_to(handbook))
    return {f"kebab/{file.relative_to(project).as_posix()}": file.read_bytes() for file in sorted(files)}


def _descriptions() -> Iterator[tuple[str, str]]:
    for distribution in distributions():
        name = distribution.metadata["Name"] or ""
        slug = _NAME.sub("-", name.lower()).strip("-")
        # The header in metadata 1.x, the body since 2.1.
        text = (distribution.metadata.get_all("Description") or [""])[-1].strip()
        text = "" if text == "UNKNOWN" else text
        if slug and text:
            suffix = _suffix(distribution.metadata["Description-Content-Type"], text)
            yield f"packages/{slug}.{suffix}", f"{_titled(name, text, suffix)}\n"


def _suffix(content_type: str | None, text: str) -> str:
    """Return the suffix of a description, by its look if it states no type."""
    stated = _SUFFIXES.get((content_type or "").partition(";")[0].strip().lower())
    return stated or ("md" if _MARKDOWN.search(text) and not _RST.search(text) else "rst")


def _titled(name: str, text: str, suffix: str) -> str:
    """Return a description with the package's name as its title, unless it begins with a title."""
    found = _TITLE.match(text)
    if found and (found["rule"] or text[0] == "#") and found["title"].strip().lower() not in _PARTS:
        return text
    return f"# {name}\n\n{text}" if suffix == "md" else f"{name}\n{'=' * len(name)}\n\n{text}"


def _write(path: Path, text: bytes) -> None:
    if path.is_file() and path.read_bytes() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
