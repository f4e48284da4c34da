"""Context packs: the passages for an information request, expanded, packed and cited.

request → channels → search → cap → rerank → cutoff → expansion → packing → segments
"""

from search.context.build import build_context_pack
from search.context.code import CODE_BUDGET, CodeRequest, retrieve_code
from search.context.request import (
    DEFAULT_BUDGET,
    MAX_BUDGET,
    MAX_NEIGHBOUR_STEPS,
    Budget,
    BudgetUnit,
    ContextRequest,
    ResponseMode,
    Surroundings,
)
from search.context.text_format import pack_text
from search.context.types import BudgetUse, ContextPack, PackedDocument, PackedText

__all__ = (
    "CODE_BUDGET",
    "DEFAULT_BUDGET",
    "MAX_BUDGET",
    "MAX_NEIGHBOUR_STEPS",
    "Budget",
    "BudgetUnit",
    "BudgetUse",
    "CodeRequest",
    "ContextPack",
    "ContextRequest",
    "PackedDocument",
    "PackedText",
    "ResponseMode",
    "Surroundings",
    "build_context_pack",
    "pack_text",
    "retrieve_code",
)
