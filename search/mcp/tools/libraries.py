"""`resolve-library-id` and `query-docs`: libraries and snippets in their exact text formats."""

from kebab.errors import NotFound
from search.libraries.context import gather_context
from search.libraries.find import RankedLibrary, find_libraries
from search.libraries.formats import libraries_text, snippets_text
from search.libraries.library import choose_library
from search.mcp.call_context import Call
from search.mcp.tools.arguments import QueryDocsArguments, ResolveLibraryArguments
from search.mcp.tools.outputs import (
    DocsOutput,
    LibrariesOutput,
    LibraryOutput,
    SnippetOutput,
    ToolOutput,
    dump,
)


def resolve_library_tool(call: Call, given: ResolveLibraryArguments) -> ToolOutput:
    """Return the libraries of a name, best first."""
    access = call.access
    found = find_libraries(access.workspace, access.reader, given.libraryName, query=given.query)
    listed = LibrariesOutput(libraries=tuple(map(_describe, found.results)))
    return ToolOutput(text=libraries_text(found.results), data=dump(listed))


def query_docs_tool(call: Call, given: QueryDocsArguments) -> ToolOutput:
    """Return the library's rules, then its best snippets, as many as fit the budget."""
    access = call.access
    try:
        library = choose_library(access.workspace, access.reader, given.libraryId)
    except NotFound as error:
        raise NotFound(
            "There is no such library or version that you may see; resolve-library-id finds ids."
        ) from error
    call.step(1, 2, "searching the library")
    context = gather_context(access.workspace, access.reader, library, given.query, tokens=given.tokens)
    snippets = (
        SnippetOutput(title=each.title, text=each.text, citation=each.citation.uri)
        for each in context.snippets
    )
    output = DocsOutput(rules=context.rules, snippets=tuple(snippets))
    return ToolOutput(text=snippets_text(context.rules, context.snippets), data=dump(output))


def _describe(found: RankedLibrary) -> LibraryOutput:
    return LibraryOutput(
        id=found.id,
        title=found.title or found.key,
        description=found.description,
        snippets=found.total_snippets,
        trust_score=found.trust_score,
        versions=tuple(version.tag for version in found.versions),
    )
