"""Expansion of code hits to the files that they import, and the choice of those files' chunks."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from search.access.predicate import chunks_in_scope
from search.access.scope import SearchScope
from search.context.chunk_queries import VersionKey, imported_documents
from search.context.imports import IMPORT_LANGUAGES, SOURCE_ROOT, Import, parse_imports
from search.models import Chunk
from search.retrieval.expansion import Follow

#: Imports are read from this many first chunks of a file, and from the hit itself.
HEAD_CHUNKS: Final = 6
#: Most imported files of a hit, and most chunks of each.
MAX_FILES: Final = 5
MAX_CHUNKS: Final = 2
# Most chunks of an imported file that are searched for definitions, and most files of a package.
_MAX_CHUNKS_SEARCHED = 60
_FILES_OF_PACKAGE = 3
_SOURCE_ROOT = re.compile(SOURCE_ROOT)

_DEFINED = (
    r"\b(?:class|def|function|func|fn|const|let|var|type|interface|enum|struct|trait|record|mod|macro_rules!)"
    r"\s+(?:\([^)\n]*\)\s*)?{name}\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Link:
    """An imported file and the names that the importing file uses of it."""

    document_id: int
    names: tuple[str, ...]


def imports_from(scope: SearchScope, hits: Iterable[Chunk]) -> Follow:
    """Return the link from hits in code to chunks of their imported files: definitions, or the first ones.

    Each hit has at most five files and two chunks of each; files whose names occur in the hit's text come
    first. Files are of the hit's own source and version.
    """
    code = {hit.chunk_id.hex: hit for hit in hits if hit.language in IMPORT_LANGUAGES}

    def follow(chunk_ids: Sequence[str]) -> Mapping[str, Mapping[str, int]]:
        code_hits = [code[chunk_id] for chunk_id in chunk_ids if chunk_id in code]
        links = _find_links(scope, code_hits) if code_hits else {}
        texts = _texts(scope, {link.document_id for each in links.values() for link in each})
        return {
            chunk_id: {
                found: 1 for link in each for found in _choose_chunks(texts[link.document_id], link.names)
            }
            for chunk_id, each in links.items()
        }

    return follow


def _find_links(scope: SearchScope, hits: Sequence[Chunk]) -> dict[str, list[_Link]]:
    heads = _heads(scope, {hit.document_id for hit in hits})
    imports = {hit.chunk_id.hex: _imports(hit, heads[hit.document_id]) for hit in hits}
    by_version: defaultdict[VersionKey, list[Import]] = defaultdict(list)
    for hit in hits:
        by_version[VersionKey.of(hit)] += imports[hit.chunk_id.hex]
    files = {version: imported_documents(scope, version, each) for version, each in by_version.items()}
    links: dict[str, list[_Link]] = {}
    for hit in hits:
        known = files[VersionKey.of(hit)]
        found = (
            link
            for each in imports[hit.chunk_id.hex]
            for link in _resolve_import(each, hit.document.path, known)
        )
        others = {link.document_id: link for link in found if link.document_id != hit.document_id}
        links[hit.chunk_id.hex] = list(others.values())[:MAX_FILES]
    return links


def _imports(hit: Chunk, head: str) -> list[Import]:
    """Return the imports of the hit's file; those whose names occur in the hit's text come first."""
    found = parse_imports(f"{head}\n{hit.text}", hit.document.path, hit.language)
    words = set(re.findall(r"\w+", hit.text))
    return sorted(found, key=lambda each: words.isdisjoint(each.names))


def _resolve_import(imported: Import, path: str, known: Mapping[str, int]) -> list[_Link]:
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


def _heads(scope: SearchScope, document_ids: Iterable[int]) -> Mapping[int, str]:
    rows = (
        chunks_in_scope(scope)
        .filter(document__in=document_ids, ordinal__lt=HEAD_CHUNKS)
        .order_by("ordinal", "chunk_id")
        .values_list("document_id", "text")
    )
    heads: defaultdict[int, list[str]] = defaultdict(list)
    for document_id, text in rows:
        heads[document_id].append(text)
    return defaultdict(str, {document_id: "\n".join(texts) for document_id, texts in heads.items()})


def _texts(scope: SearchScope, document_ids: Iterable[int]) -> Mapping[int, list[tuple[str, str]]]:
    """Return the first chunks of documents, each with its id and text, in order."""
    rows = (
        chunks_in_scope(scope)
        .filter(document__in=document_ids, ordinal__lt=_MAX_CHUNKS_SEARCHED)
        .order_by("ordinal", "chunk_id")
        .values_list("document_id", "chunk_id", "text")
    )
    texts: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    for document_id, chunk_id, text in rows:
        texts[document_id].append((chunk_id.hex, text))
    return texts


def _choose_chunks(texts: Sequence[tuple[str, str]], names: Sequence[str]) -> list[str]:
    patterns = [re.compile(_DEFINED.format(name=re.escape(name))) for name in names]
    counted = [(sum(1 for each in patterns if each.search(text)), chunk_id) for chunk_id, text in texts]
    defining = sorted((each for each in counted if each[0]), key=lambda each: -each[0])
    return [chunk_id for _, chunk_id in (defining or counted[:1])[:MAX_CHUNKS]]
