"""Context packs as JSON-ready values. Every field is there; absent ones are null."""

from dataclasses import fields
from typing import Final

from search.context.types import (
    BudgetUse,
    ContextPack,
    OutlinedFile,
    Overview,
    PackedDocument,
    PackedText,
    Symbol,
)
from search.retrieval.expansion import Reached
from search.retrieval.types import RerankOutcome
from search.retrieval.wire import Wire, citation_to_wire

PACK_VERSION: Final = "context_pack.v1"

_Part = (
    ContextPack
    | PackedDocument
    | PackedText
    | Overview
    | OutlinedFile
    | Symbol
    | BudgetUse
    | Reached
    | RerankOutcome
)


def pack_to_wire(pack: ContextPack) -> Wire:
    """Return a `context_pack.v1`."""
    return {
        "schema_version": PACK_VERSION,
        **_flat(pack),
        "technical_terms": list(pack.technical_terms),
        "response_mode": pack.response_mode.value,
        "mode": pack.mode.value,
        "degraded": list(pack.degraded),
        "warnings": list(pack.warnings),
        "rerank": None if pack.rerank is None else _flat(pack.rerank),
        "budget": _flat(pack.budget) | {"unit": pack.budget.unit.value},
        "overview": None if pack.overview is None else _overview_to_wire(pack.overview),
        "files": [_file_to_wire(file) for file in pack.files],
    }


def _overview_to_wire(overview: Overview) -> Wire:
    return {**_flat(overview), "files": [_outline_to_wire(file) for file in overview.files]}


def _outline_to_wire(file: OutlinedFile) -> Wire:
    return {**_flat(file), "symbols": [_symbol_to_wire(symbol) for symbol in file.symbols]}


def _symbol_to_wire(symbol: Symbol) -> Wire:
    return {
        **_flat(symbol),
        "heading_path": list(symbol.heading_path),
        "citation": citation_to_wire(symbol.citation),
    }


def _file_to_wire(file: PackedDocument) -> Wire:
    return {
        **_flat(file),
        "tags": list(file.tags),
        "trust_level": file.trust_level.value,
        "segments": [_segment_to_wire(segment) for segment in file.segments],
    }


def _segment_to_wire(segment: PackedText) -> Wire:
    return {
        **_flat(segment),
        "citation": citation_to_wire(segment.citation),
        "chunks": [_flat(chunk) for chunk in segment.chunks],
    }


def _flat(value: _Part) -> Wire:
    return {field.name: getattr(value, field.name) for field in fields(value)}
