"""JSON representation of libraries and snippets. Every field is present; absent values are None."""

from search.libraries.context import LibraryContext
from search.libraries.find import LibraryResults, RankedLibrary
from search.libraries.library import ChosenLibrary, Version
from search.libraries.snippets import SnippetResults
from search.wire import Wire, time_to_wire, to_wire

LIBRARIES_VERSION = "library_search.v1"
SNIPPETS_VERSION = "snippet_search.v1"
CONTEXT_VERSION = "context.v1"


def libraries_to_wire(name: str, query: str, found: LibraryResults) -> Wire:
    """Return a library search as `library_search.v1`."""
    return {
        "schema_version": LIBRARIES_VERSION,
        "library_name": name,
        "query": query,
        "results": [_result_to_wire(each) for each in found.libraries],
        "degraded": list(found.degraded),
    }


def snippets_to_wire(library: ChosenLibrary, query: str, found: SnippetResults) -> Wire:
    """Return a snippet search as `snippet_search.v1`."""
    return {
        "schema_version": SNIPPETS_VERSION,
        "library": _library_to_wire(library),
        "query": query,
        "snippets": [to_wire(snippet) for snippet in found.snippets],
        "degraded": list(found.degraded),
        "warnings": list(found.warnings),
    }


def context_to_wire(context: LibraryContext) -> Wire:
    """Return a library's context as `context.v1`."""
    return {
        "schema_version": CONTEXT_VERSION,
        "library": _library_to_wire(context.library),
        "query": context.query,
        "rules": list(context.rules),
        "snippets": [to_wire(snippet) for snippet in context.snippets],
        "total_tokens": context.total_tokens,
        "degraded": list(context.degraded),
        "warnings": list(context.warnings),
    }


def _result_to_wire(found: RankedLibrary) -> Wire:
    source = found.source
    return {
        "id": source.library_id,
        "title": source.title,
        "description": source.description,
        "total_snippets": source.total_snippets,
        "trust_score": source.trust_score,
        "stars": source.stars,
        "versions": [_version_to_wire(version) for version in found.versions],
        "state": source.state,
        "last_indexed_at": source.last_indexed_at and time_to_wire(source.last_indexed_at),
        "score": found.score,
    }


def _version_to_wire(version: Version) -> Wire:
    return {"tag": version.tag, "title": version.title or None}


def _library_to_wire(library: ChosenLibrary) -> Wire:
    return {
        "id": library.source.library_id,
        "version": library.version or None,
        "title": library.source.title,
        "description": library.source.description,
    }
