"""Context: a library's rules and the best snippets for a question, within a budget of tokens."""

from dataclasses import dataclass
from typing import Final

from kebab.people.models import Workspace
from kebab.people.reader import Reader
from search.embedders.minilm.tokenizer import TokenCounter
from search.engine.search import search
from search.libraries.formats import SEPARATOR, rules_text, snippet_text
from search.libraries.library import ChosenLibrary
from search.libraries.snippets import FoundSnippets, LibrarySnippet, filters_of, found_snippets
from search.retrieval.types import SearchQuery

DEFAULT_TOKENS: Final = 10_000
MAX_TOKENS: Final = 1_000_000
#: The most snippets of an answer: some 200 tokens each, they fill more than the default budget.
MAX_SNIPPETS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryContext:
    """What a tool is told about a question."""

    library: ChosenLibrary
    query: str
    rules: tuple[str, ...]
    snippets: tuple[LibrarySnippet, ...]
    #: Of its text form.
    total_tokens: int
    degraded: tuple[str, ...]
    warnings: tuple[str, ...]


def gather_context(
    workspace: Workspace, reader: Reader, library: ChosenLibrary, query: str, *, tokens: int
) -> LibraryContext:
    """Return rules, then snippets by hybrid search in the library, up to the first that exceeds `tokens`.

    Tokens are the default model's, an estimate where its tokenizer isn't installed; they are counted on the
    text form, headings and separators included. Raises InvalidQuery.
    """
    found = _search(workspace, reader, library, query)
    budget = _Budget(tokens)
    rules = budget.rules(library.rules)
    snippets = budget.snippets(found.snippets) if len(rules) == len(library.rules) else ()
    return LibraryContext(
        library=library,
        query=query,
        rules=rules,
        snippets=snippets,
        total_tokens=budget.used,
        degraded=found.degraded,
        warnings=found.warnings,
    )


def _search(workspace: Workspace, reader: Reader, library: ChosenLibrary, query: str) -> FoundSnippets:
    asked = SearchQuery(text=query, k=MAX_SNIPPETS, filters=filters_of(library))
    result = search(workspace, asked, reader=reader, with_snippets=False)
    return found_snippets(workspace, result, result.hits)


class _Budget:
    """Tokens to spend. White space parts tokens, so those of parts add up to those of the whole."""

    def __init__(self, tokens: int) -> None:
        self._counter = TokenCounter()
        self._tokens = tokens
        self.used = 0

    def rules(self, rules: tuple[str, ...]) -> tuple[str, ...]:
        """Return the rules that fit, the first ones."""
        for kept, rule in enumerate(rules):
            above = rules[kept - 1 : kept]
            cost = self._counter.count(rules_text((*above, rule))) - self._counter.count(rules_text(above))
            if self.used + cost > self._tokens:
                return rules[:kept]
            self.used += cost
        return rules

    def snippets(self, snippets: tuple[LibrarySnippet, ...]) -> tuple[LibrarySnippet, ...]:
        """Return the snippets up to the first that doesn't fit."""
        for kept, snippet in enumerate(snippets):
            cost = self._counter.count(snippet_text(snippet))
            cost += self._counter.count(SEPARATOR) if self.used else 0
            if self.used + cost > self._tokens:
                return snippets[:kept]
            self.used += cost
        return snippets
