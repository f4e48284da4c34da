"""Code retrieval for an information request: `retrieve_code(workspace, reader, request)`."""

from dataclasses import dataclass, replace
from typing import Final

from kebab.identity.models import Workspace
from kebab.identity.reader import Reader
from search.context.build import build_context_pack
from search.context.request import Budget, BudgetUnit, ContextRequest, ResponseMode, Surroundings
from search.context.types import ContextPack
from search.retrieval.code.paths import path_globs
from search.retrieval.fusion.post_fusion import TOP_M
from search.retrieval.query.channels import build_channels, distinct_terms, without_syntax
from search.retrieval.query.filters import SearchFilters
from search.retrieval.types import SearchQuery

CODE_BUDGET: Final = Budget(unit=BudgetUnit.TOKENS, total=8_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeRequest:
    """An information request about a code base."""

    #: In plain words.
    information_request: str
    #: Names that the answer is likely to contain.
    technical_terms: tuple[str, ...] = ()
    #: Keys or ids of sources; none: all that the reader may read.
    source: tuple[str, ...] = ()
    #: Version tags; none: the default versions.
    version: tuple[str, ...] = ()
    #: Path patterns, as parsed by `path_globs`: a file must match one of `include` and none of `exclude`.
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    #: Programming languages, by any name that `search.retrieval.code.languages` knows.
    languages: tuple[str, ...] = ()
    response_mode: ResponseMode = ResponseMode.TEXT
    #: Budget of the pack's text as written by `search.context.text_format.pack_text`.
    budget: Budget = CODE_BUDGET

    @property
    def filters(self) -> SearchFilters:
        """Return the filters of the search. Raises InvalidFilter."""
        return SearchFilters(
            source=self.source,
            version=self.version,
            path_glob=path_globs(self.include),
            path_not_glob=path_globs(self.exclude),
            code_lang=self.languages,
        )


def retrieve_code(
    workspace: Workspace, reader: Reader, request: CodeRequest, *, min_seq: int | None = None
) -> ContextPack:
    """Return the pack for `request`, best file first, from what `reader` may read of `workspace`.

    The text that `search.context.text_format.pack_text` writes of it fits the budget to the token. With
    `min_seq` it waits, within a limit, until this node shows that change. Raises InvalidQuery and
    InvalidFilter, NotSearchableYet, Workspace.DoesNotExist.
    """
    channels = build_channels(request.information_request, request.technical_terms)
    plain = replace(channels, lexical=without_syntax(channels.lexical))
    context_request = ContextRequest(
        query=SearchQuery(text=request.information_request, filters=request.filters, k=TOP_M, channels=plain),
        technical_terms=distinct_terms(request.technical_terms),
        budget=request.budget,
        surroundings=Surroundings(imports=True),
        response_mode=request.response_mode,
        by_file=True,
        is_framed=True,
    )
    return build_context_pack(workspace, reader, context_request, min_seq=min_seq)
