"""Context packs: the passages for an information request, expanded, packed and cited.

request → channels → search → cap → rerank → cutoff → expansion → packing → segments
"""

from search.context.build import CODE_BUDGET, CodeRequest, build_context_pack, retrieve_code
from search.context.overview import pack_text
from search.context.types import (
    DEFAULT_BUDGET,
    MAX_BUDGET,
    MAX_NEIGHBOUR_STEPS,
    Budget,
    BudgetUnit,
    BudgetUse,
    ContextPack,
    ContextRequest,
    PackedDocument,
    PackedText,
    ResponseMode,
    Surroundings,
)

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
