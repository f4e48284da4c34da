"""Context packs: what an information request needs to be answered, expanded, packed and cited.

request → channels → search → cap → rerank → cutoff → expansion → packing → segments
"""

from search.context.build import build_context_pack
from search.context.request import (
    DEFAULT_BUDGET,
    MAX_BUDGET,
    MAX_NEIGHBOUR_STEPS,
    Budget,
    BudgetUnit,
    ContextRequest,
    Surroundings,
)
from search.context.types import BudgetUse, ContextPack, PackedDocument, PackedText

__all__ = (
    "DEFAULT_BUDGET",
    "MAX_BUDGET",
    "MAX_NEIGHBOUR_STEPS",
    "Budget",
    "BudgetUnit",
    "BudgetUse",
    "ContextPack",
    "ContextRequest",
    "PackedDocument",
    "PackedText",
    "Surroundings",
    "build_context_pack",
)
