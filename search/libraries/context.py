"""Library context: a library's rules and the best snippets for a question, within a token budget."""

from dataclasses import dataclass
from typing import Final

from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from search.embedders.bert.tokenizer import TokenCounter
from search.engine.search import search
from search.libraries.formats import SEPARATOR, rules_text, snippet_text
from search.libraries.library import ChosenLibrary, NamedLibrary
from search.libraries.snippets import LibrarySnippet, SnippetResults, library_filters, read_snippets
from search.retrieval.types import SearchQuery
from search.retrieval.wire_types import Count

DEFAULT_TOKENS: Final = 10_000
MAX_TOKENS: Final = 1_000_000
#: The most snippets of a context. At some 200 tokens each they exceed the default budget.
MAX_SNIPPETS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryContext:
    """A library's rules and its best snippets for a question, within a budget of tokens."""

    library: NamedLibrary
    query: str
    rules: tuple[str, ...]
    snippets: tuple[LibrarySnippet, ...]
    #: Of the same rules and snippets as text.
    total_tokens: Count
    #: Legs that took no part or were stopped.
    degraded: tuple[str, ...]
    warnings: tuple[str, ...]


def gather_context(
    workspace: Workspace, reader: Reader, library: ChosenLibrary, query: str, *, tokens: int
) -> LibraryContext:
    """Return rules, then snippets by hybrid search in the library, up to the first that exceeds `tokens`.

    Tokens are the default model's, an estimate if its tokenizer isn't installed; they are counted on the text
    form, headings and separators included. Raises InvalidQuery.
    """
    found = _search(workspace, reader, library, query)
    budget = _TokenBudget(tokens)
    rules = budget.take_rules(library.rules)
    snippets = budget.take_snippets(found.snippets) if len(rules) == len(library.rules) else ()
    return LibraryContext(
        library=library.identify(),
        query=query,
        rules=rules,
        snippets=snippets,
        total_tokens=budget.used,
        degraded=found.degraded,
        warnings=found.warnings,
    )


def _search(workspace: Workspace, reader: Reader, library: ChosenLibrary, query: str) -> SnippetResults:
    search_query = SearchQuery(text=query, k=MAX_SNIPPETS, floor=True, filters=library_filters(library))
    result = search(workspace, search_query, reader=reader, with_snippets=False)
    return read_snippets(workspace, result, result.hits)


class _TokenBudget:
    """Token budget of a context. No token spans white space, so the tokens of parts add up to the whole's."""

    def __init__(self, tokens: int) -> None:
        self._counter = TokenCounter()
        self._tokens = tokens
        self.used = 0

    def take_rules(self, rules: tuple[str, ...]) -> tuple[str, ...]:
        """Spend tokens on the rules up to the first that doesn't fit, and return them."""
        for index, rule in enumerate(rules):
            above = rules[index - 1 : index]
            cost = self._counter.count(rules_text((*above, rule))) - self._counter.count(rules_text(above))
            if self.used + cost > self._tokens:
                return rules[:index]
            self.used += cost
        return rules

    def take_snippets(self, snippets: tuple[LibrarySnippet, ...]) -> tuple[LibrarySnippet, ...]:
        """Spend tokens on the snippets up to the first that doesn't fit, and return them."""
        for index, snippet in enumerate(snippets):
            cost = self._counter.count(snippet_text(snippet))
            cost += self._counter.count(SEPARATOR) if self.used else 0
            if self.used + cost > self._tokens:
                return snippets[:index]
            self.used += cost
        return snippets
