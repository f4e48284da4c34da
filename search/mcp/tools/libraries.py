"""`resolve-library-id` and `query-docs`: libraries and snippets in their exact text formats."""

from kebab.http.api.errors import NotFound
from search.libraries.context import gather_context
from search.libraries.find import find_libraries
from search.libraries.formats import libraries_text, snippets_text
from search.libraries.library import choose_library
from search.mcp.call_context import Call
from search.mcp.tools.arguments import QueryDocsArguments, ResolveLibraryArguments


def resolve_library_tool(call: Call, given: ResolveLibraryArguments) -> str:
    """Return the libraries of a name, best first."""
    access = call.access
    found = find_libraries(access.workspace, access.reader, given.libraryName, query=given.query)
    return libraries_text(found.libraries)


def query_docs_tool(call: Call, given: QueryDocsArguments) -> str:
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
    return snippets_text(context.rules, context.snippets)
