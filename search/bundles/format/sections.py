"""Fields of the rows of a bundle in format 1; docs/bundles.md gives the reasons, model by model.

A row has its model's fields but for those that are omitted. A field that ends in `_number` refers to a row of
another section. Row ids of the workspace are not included: an import assigns new ones, except to documents
and chunks, whose ids are derived from their content.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Annotated, Any, Final

from django.contrib.postgres.fields import ArrayField
from django.db import models
from pydantic import Field

from kebab.identity.models import Group, Workspace
from search.bundles.format.layout import MAX_DIM
from search.bundles.format.values import (
    MAX_COUNT,
    MAX_TEXT_CHARS,
    ROW_NUMBER,
    Fields,
    HashText,
    Id,
    JsonList,
    JsonObject,
    Number,
    Rows,
    Spans,
    Timestamp,
    integer,
    one_of,
    rows_of,
    text,
    texts,
)
from search.models import (
    Chunk,
    ChunkVector,
    Document,
    EmbeddingSpace,
    Judgement,
    Run,
    RunState,
    RunTopic,
    Source,
    SourceReader,
    SourceVersion,
    Topic,
    Trust,
)

_SMALL = 2**31 - 1
# Valid keys of sources; a key can't contain a path separator.
_KEY = Annotated[str, Field(pattern=r"^[^\x00-\x1f/\\\x7f]{1,63}$")]
_BY_KIND: Final[Mapping[type[Any], Any]] = {
    models.PositiveIntegerField: integer(most=_SMALL),
    models.SmallIntegerField: integer(least=-(2**15), most=2**15 - 1),
    models.IntegerField: integer(least=-(2**31), most=_SMALL),
    models.BigIntegerField: integer(least=-(2**63)),
    models.BooleanField: bool,
    models.FloatField: Number,
    models.UUIDField: Id,
    models.DateTimeField: Timestamp,
    models.ForeignKey: ROW_NUMBER,
}


@dataclass(frozen=True, kw_only=True)
class Section:
    """The rows of one model."""

    model: type[models.Model]
    #: Reasons by name, for the model's fields that are not carried.
    omitted: Mapping[str, str]
    #: Types of fields where the model's field allows more than a bundle.
    types: Fields = field(default_factory=dict)

    @cached_property
    def fields(self) -> Fields:
        """Return the types by the name of the model's field, or of its replacement in the bundle."""
        carried = (each for each in self.model._meta.concrete_fields if each.name not in self.omitted)
        return {_name_of(each): self.types.get(each.name) or _type_of(each) for each in carried}


def _name_of(model_field: "models.Field[Any, Any]") -> str:
    is_reference = isinstance(model_field, models.ForeignKey)
    return f"{model_field.name}_number" if is_reference else model_field.name


def _type_of(model_field: "models.Field[Any, Any]") -> Any:
    found: Any = _BY_KIND.get(type(model_field))
    if isinstance(model_field, ArrayField):
        found = texts(model_field.base_field.max_length or MAX_TEXT_CHARS)
    elif isinstance(model_field, models.JSONField):
        found = JsonObject if model_field.default is dict else JsonList
    elif isinstance(model_field, models.TextField):
        found = text()
    elif isinstance(model_field, models.CharField):
        choices = [value for value, _ in model_field.choices or ()]
        found = one_of(*choices) if choices else text(model_field.max_length or MAX_TEXT_CHARS)
    return found | None if model_field.null else found


_OWN = "each workspace assigns its own"
_OF_WORKSPACE = "every row belongs to the new workspace"
_EACH: Final = {"id": _OWN, "workspace": _OF_WORKSPACE}
_PERSONS: Final = {"created_by": "names a person", "creator": "names a person"}

SECTIONS_BY_NAME: Final[Mapping[str, Section]] = {
    "workspace": Section(
        model=Workspace,
        omitted={
            "id": _OWN,
            "created_at": "the time of the import",
            "quota": "set by the operator of each machine",
        },
        types={"head_seq": integer(most=MAX_COUNT)},
    ),
    "groups": Section(model=Group, omitted={**_EACH, "created_at": "the time of the import"}),
    "sources": Section(
        model=Source,
        omitted={
            "workspace": _OF_WORKSPACE,
            "sealed_credentials": "secrets stay on their machine",
            "watch": "an imported source syncs only on request",
            "next_sync_at": "an imported source syncs only on request",
            "compared_at": "the time on another machine",
        },
        types={"key": _KEY, "default_trust": one_of(*Trust.values)},
    ),
    "readers": Section(model=SourceReader, omitted=_EACH),
    "versions": Section(
        model=SourceVersion, omitted={**_EACH, "cursor": "the next sync begins from the start"}
    ),
    "spaces": Section(
        model=EmbeddingSpace,
        omitted={**_EACH, "is_indexed": "an import builds the index"},
        types={"dim": integer(least=1, most=MAX_DIM), "epoch": integer(most=MAX_COUNT)},
    ),
    "topics": Section(model=Topic, omitted={**_EACH, **_PERSONS}),
    "judgements": Section(
        model=Judgement, omitted={**_EACH, "place_key": "follows from the source's new id"}
    ),
    "runs": Section(
        model=Run,
        omitted={**_EACH, **_PERSONS, "job_id": "jobs are not carried"},
        types={"state": one_of(RunState.SUCCEEDED.value, RunState.FAILED.value, RunState.CANCELLED.value)},
    ),
    "run_topics": Section(model=RunTopic, omitted=_EACH),
    "documents": Section(
        model=Document,
        omitted={
            **_EACH,
            "source": "its version's",
            "title_folded": "generated by the database",
            "author": "as its metadata states",
            "filter_values": "as its metadata states",
            "dated_at": "as its metadata states, else the time of its file or of indexing",
            "omissions": "about the reading of its file on this machine",
            "is_dated": "whether that is not the time of indexing",
        },
        types={"size_bytes": integer(), "content_hash": HashText},
    ),
    "chunks": Section(
        model=Chunk,
        omitted={
            "workspace": _OF_WORKSPACE,
            "document": "its row's column",
            "plain": "its text without markup",
        },
        types={"source_spans": Spans},
    ),
    "vectors": Section(
        model=ChunkVector,
        omitted={
            "workspace": _OF_WORKSPACE,
            "space": "a column",
            "chunk_id": "a column of ids, 16 bytes each",
            "version_id": "its chunk's document's",
            "embed_hash": "its chunk's",
            "embedding": "the row's body: little-endian float16",
            "written": "the time of writing on this machine",
        },
    ),
}


@cache
def section_rows(section: str) -> Rows:
    """Return the type of the rows of a section."""
    return rows_of(SECTIONS_BY_NAME[section].fields)
