"""Real text that every installation has: Kebab's documentation and the READMEs of its packages."""

import re
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path

_NAME = re.compile("[^a-z0-9]+")
#: The made-up handbook of the evaluation, which does not describe Kebab.
_HANDBOOK = "docs/evaluation/handbook"


def write_corpus(folder: Path, project: Path) -> int:
    """Make `folder` hold exactly the demonstration's documents, and return their number.

    Unchanged files are not written again, so that a second ingestion has nothing to do.
    """
    texts = {**_own_documents(project), **_package_readmes()}
    for path, text in texts.items():
        _write(folder / path, text)
    for present in folder.rglob("*"):
        if present.is_file() and present.relative_to(folder).as_posix() not in texts:
            present.unlink()
    return len(texts)


def _own_documents(project: Path) -> Mapping[str, bytes]:
    # Not the README: it quotes a search of the demonstration, which would find itself first.
    handbook = project / _HANDBOOK
    files = (file for file in (project / "docs").rglob("*.md") if not file.is_relative_to(handbook))
    return {f"kebab/{file.relative_to(project).as_posix()}": file.read_bytes() for file in sorted(files)}


def _package_readmes() -> dict[str, bytes]:
    return {f"packages/{name}.md": text.encode("utf-8", "replace") for name, text in _descriptions()}


def _descriptions() -> Iterator[tuple[str, str]]:
    for distribution in distributions():
        name = _NAME.sub("-", (distribution.metadata["Name"] or "").lower()).strip("-")
        text = _description(distribution)
        if name and text:
            yield name, f"{text}\n"


def _description(distribution: Distribution) -> str:
    # The header in metadata 1.x, the body since 2.1.
    text = (distribution.metadata.get_all("Description") or [""])[-1].strip()
    return "" if text == "UNKNOWN" else text


def _write(path: Path, text: bytes) -> None:
    if path.is_file() and path.read_bytes() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
