"""The files that code among the hits imports, and which of their chunks to read."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from search.access.scope import Scope
from search.context.chunk_queries import Place, imported_documents, standing_chunks
from search.context.imports import IMPORT_LANGUAGES, SOURCE_ROOT, Import, imports_of
from search.models import Chunk
from search.retrieval.expansion import Follow

#: Imports are read from so many first chunks of a file, and from the hit itself.
HEAD_CHUNKS: Final = 6
#: So many files a hit, and so many chunks of each.
MAX_FILES: Final = 5
MAX_CHUNKS: Final = 2
# Of an imported file, so many chunks are looked through; of a package, so many files are taken.
_MAX_LOOKED_THROUGH = 60
_FILES_OF_PACKAGE = 3
_SOURCE_ROOT = re.compile(SOURCE_ROOT)

_DEFINED = (
    r"\b(?:class|def|function|func|fn|const|let|var|type|interface|enum|struct|trait|record|mod|macro_rules!)"
    r"\s+(?:\([^)\n]*\)\s*)?{name}\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Link:
    """An imported file and the names that are used of it."""

    document_id: int
    names: tuple[str, ...]


def imports_from(scope: Scope, hits: Iterable[Chunk]) -> Follow:
    """Return what leads from hits in code to the chunks of what they import: definitions, or the file's
    first.

    Five files a hit and two chunks of each at most, those first whose names the hit has in its text. Files
    are of the hit's own source and version.
    """
    code = {hit.chunk_id.hex: hit for hit in hits if hit.language in IMPORT_LANGUAGES}

    def follow(chunk_ids: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
        asked = [code[chunk_id] for chunk_id in chunk_ids if chunk_id in code]
        links = _links(scope, asked) if asked else {}
        texts = _texts(scope, {link.document_id for each in links.values() for link in each})
        return {
            chunk_id: {found: 1 for link in each for found in _chosen(texts[link.document_id], link.names)}
            for chunk_id, each in links.items()
        }

    return follow


def _links(scope: Scope, hits: Sequence[Chunk]) -> dict[str, list[_Link]]:
    heads = _heads(scope, {hit.document_id for hit in hits})
    imports = {hit.chunk_id.hex: _imports(hit, heads[hit.document_id]) for hit in hits}
    wanted: defaultdict[Place, list[Import]] = defaultdict(list)
    for hit in hits:
        wanted[Place.of(hit)] += imports[hit.chunk_id.hex]
    files = {place: imported_documents(scope, place, each) for place, each in wanted.items()}
    links: dict[str, list[_Link]] = {}
    for hit in hits:
        known = files[Place.of(hit)]
        found = (
            link for each in imports[hit.chunk_id.hex] for link in _linked(each, hit.document.path, known)
        )
        others = {link.document_id: link for link in found if link.document_id != hit.document_id}
        links[hit.chunk_id.hex] = list(others.values())[:MAX_FILES]
    return links


def _imports(hit: Chunk, head: str) -> list[Import]:
    """Return what the hit's file imports, first that of which the hit has a name in its text."""
    found = imports_of(f"{head}\n{hit.text}", hit.document.path, hit.language)
    words = set(re.findall(r"\w+", hit.text))
    return sorted(found, key=lambda each: words.isdisjoint(each.names))


def _linked(imported: Import, path: str, known: Mapping[str, int]) -> list[_Link]:
    file = next((known[each] for each in imported.paths if each in known), None)
    if file is None and imported.below_roots:
        others = (each for each in sorted(known) if _SOURCE_ROOT.sub("", each) in imported.below_roots)
        file = next((known[each] for each in others), None)
    if file is not None:
        return [_Link(document_id=file, names=imported.names)]
    for folder in imported.folders:
        files = sorted(each for each in known if _is_in_package(each, folder, path))
        if files:
            return [
                _Link(document_id=known[each], names=imported.names) for each in files[:_FILES_OF_PACKAGE]
            ]
    return []


def _is_in_package(path: str, folder: str, importing: str) -> bool:
    stem, _, ending = path.rpartition(".")
    return (
        path.rpartition("/")[0] == folder
        and ending == importing.rpartition(".")[2]
        and not stem.endswith("_test")
    )


def _heads(scope: Scope, document_ids: Iterable[int]) -> Mapping[int, str]:
    rows = (
        standing_chunks(scope)
        .filter(document__in=document_ids, ordinal__lt=HEAD_CHUNKS)
        .order_by("ordinal", "chunk_id")
        .values_list("document_id", "text")
    )
    heads: defaultdict[int, list[str]] = defaultdict(list)
    for document_id, text in rows:
        heads[document_id].append(text)
    return defaultdict(str, {document_id: "\n".join(texts) for document_id, texts in heads.items()})


def _texts(scope: Scope, document_ids: Iterable[int]) -> Mapping[int, list[tuple[str, str]]]:
    """Return the first chunks of documents, each with its id and text, in order."""
    rows = (
        standing_chunks(scope)
        .filter(document__in=document_ids, ordinal__lt=_MAX_LOOKED_THROUGH)
        .order_by("ordinal", "chunk_id")
        .values_list("document_id", "chunk_id", "text")
    )
    texts: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    for document_id, chunk_id, text in rows:
        texts[document_id].append((chunk_id.hex, text))
    return texts


def _chosen(texts: Sequence[tuple[str, str]], names: Sequence[str]) -> list[str]:
    patterns = [re.compile(_DEFINED.format(name=re.escape(name))) for name in names]
    counted = [(sum(1 for each in patterns if each.search(text)), chunk_id) for chunk_id, text in texts]
    defining = sorted((each for each in counted if each[0]), key=lambda each: -each[0])
    return [chunk_id for _, chunk_id in (defining or counted[:1])[:MAX_CHUNKS]]
