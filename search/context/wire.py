"""JSON representation of context packs. Every field is present; absent values are null."""

from typing import Final

from search.context.types import ContextPack, OutlinedFile, Overview, PackedDocument, PackedText, Symbol
from search.retrieval.wire import Wire, citation_to_wire, field_values

PACK_VERSION: Final = "context_pack.v1"


def pack_to_wire(pack: ContextPack) -> Wire:
    """Return a pack as `context_pack.v1`."""
    return {
        "schema_version": PACK_VERSION,
        **field_values(pack),
        "technical_terms": list(pack.technical_terms),
        "response_mode": pack.response_mode.value,
        "mode": pack.mode.value,
        "degraded": list(pack.degraded),
        "warnings": list(pack.warnings),
        "rerank": None if pack.rerank is None else field_values(pack.rerank),
        "budget": field_values(pack.budget) | {"unit": pack.budget.unit.value},
        "overview": None if pack.overview is None else _overview_to_wire(pack.overview),
        "files": [_file_to_wire(file) for file in pack.files],
    }


def _overview_to_wire(overview: Overview) -> Wire:
    return {**field_values(overview), "files": [_outline_to_wire(file) for file in overview.files]}


def _outline_to_wire(file: OutlinedFile) -> Wire:
    return {**field_values(file), "symbols": [_symbol_to_wire(symbol) for symbol in file.symbols]}


def _symbol_to_wire(symbol: Symbol) -> Wire:
    return {
        **field_values(symbol),
        "heading_path": list(symbol.heading_path),
        "citation": citation_to_wire(symbol.citation),
    }


def _file_to_wire(file: PackedDocument) -> Wire:
    return {
        **field_values(file),
        "tags": list(file.tags),
        "trust_level": file.trust_level.value,
        "segments": [_segment_to_wire(segment) for segment in file.segments],
    }


def _segment_to_wire(segment: PackedText) -> Wire:
    return {
        **field_values(segment),
        "citation": citation_to_wire(segment.citation),
        "chunks": [field_values(chunk) for chunk in segment.chunks],
    }
