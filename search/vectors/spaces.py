"""Embedding spaces of a workspace."""

import hashlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F, OuterRef, Q, QuerySet
from django.db.models.functions import JSONObject

from kebab.identity.models import Workspace
from search.embedders.base import SpaceIdentity
from search.embedders.bert.model import MULTILINGUAL_MODEL
from search.models import Document, EmbeddingSpace, SpaceState
from search.retrieval.index_version import vector_version

#: The remedy for vectors of another model.
REMEDY = (
    "Set KEBAB_EMBEDDER back to the model that made them, or name that one in KEBAB_EMBEDDERS;"
    " kebab reembed changes the model."
)
#: The language of documents in none that is known.
UNDETERMINED = "und"

_SAMPLED_DOCUMENTS = 5_000
_IDENTITY = ("model", "revision", "dim", "query_prefix", "passage_prefix")
_identity_of = attrgetter(*_IDENTITY)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSpace:
    """The space that searches use."""

    space_id: int
    model: str
    revision: str
    dim: int
    query_prefix: str
    passage_prefix: str
    epoch: int
    #: Share of documents in a language of the model, among those with a known language, in [0, 1].
    known_share: float | None
    is_indexed: bool

    @property
    def crosses_languages(self) -> bool:
        """Return whether queries find passages in other languages than their own."""
        return self.model == MULTILINGUAL_MODEL

    @property
    def index_version(self) -> str:
        """Return the version of the vectors: model, revision, dimension, prefixes and epoch."""
        return vector_version(f"{self.model}-{self.revision}-{self.dim}{self._prefix_mark}", self.epoch)

    @property
    def _prefix_mark(self) -> str:
        """Return a hash of the prefixes, for spaces that differ in these only; '' without prefixes."""
        prefixes = f"{self.query_prefix}\0{self.passage_prefix}"
        return f"-{hashlib.blake2b(prefixes.encode(), digest_size=3).hexdigest()}" if prefixes != "\0" else ""


#: What has the fields that tell whose vectors they are.
SpaceFields = LiveSpace | EmbeddingSpace | SpaceIdentity


def is_made_by(space: SpaceFields, identity: SpaceFields) -> bool:
    """Return whether vectors of the embedder `identity` may be compared with those of `space`."""
    return bool(_identity_of(space) == _identity_of(identity))


def describe_mismatch(space: LiveSpace | None, identity: SpaceIdentity | None) -> str | None:
    """Return the message that the stored vectors are another model's than the queries'; None if they fit."""
    if space is None or identity is None or is_made_by(space, identity):
        return None
    return (
        f"The vectors are {space.model}@{space.revision}'s, queries would be"
        f" {identity.model}@{identity.revision}'s: the vector leg is off."
    )


#: The fields of a `LiveSpace` as one JSON value.
SPACE_AS_JSON = JSONObject(
    space_id=F("pk"), **{field.name: F(field.name) for field in fields(LiveSpace) if field.name != "space_id"}
)


def live_spaces(workspace_id: uuid.UUID | OuterRef) -> "QuerySet[EmbeddingSpace]":
    """Return a queryset of the live space, if any, of a workspace; the id may be an expression."""
    return EmbeddingSpace.objects.filter(Q(workspace_id=workspace_id), state=SpaceState.LIVE)


def to_live_space(space: EmbeddingSpace) -> LiveSpace:
    """Convert a space, in any state, to a `LiveSpace`."""
    names = [field.name for field in fields(LiveSpace) if field.name != "space_id"]
    return LiveSpace(space_id=space.pk, **{name: getattr(space, name) for name in names})


def live_space(workspace: Workspace) -> LiveSpace | None:
    """Return the workspace's live space, None before the first vector."""
    row = live_spaces(workspace.pk).values_list(SPACE_AS_JSON, flat=True).first()
    return None if row is None else LiveSpace(**row)


def ensure_live_space(workspace: Workspace, identity: SpaceIdentity) -> EmbeddingSpace:
    """Return the workspace's live space; without one, create it from `identity` or reuse a retired space."""
    spaces = EmbeddingSpace.objects.in_workspace(workspace).filter(state=SpaceState.LIVE)
    space = spaces.first()
    if space is not None:
        return space
    try:
        with transaction.atomic():
            same = {name: getattr(identity, name) for name in _IDENTITY}
            ended = EmbeddingSpace.objects.in_workspace(workspace).filter(**same, state=SpaceState.RETIRED)
            space = ended.select_for_update(no_key=True).first()
            if space is None:
                return EmbeddingSpace.objects.create(workspace=workspace, **identity_fields(identity))
            space.state, space.live_until, space.retire_at = SpaceState.LIVE, None, None
            space.held_because = ""
            space.save(update_fields=["state", "live_until", "retire_at", "held_because"])
            return space
    except IntegrityError:  # another worker was first
        return spaces.get()


def identity_fields(identity: SpaceIdentity) -> dict[str, Any]:
    """Return the model fields of a space for the embedder `identity`."""
    return {**{name: getattr(identity, name) for name in _IDENTITY}, "languages": list(identity.languages)}


def language_share(
    workspace_id: uuid.UUID, is_among: Callable[[str], bool], *, counts_unclear: bool = False
) -> float | None:
    """Return the share of documents in the languages `is_among`; None without a document of a known one.

    With `counts_unclear` documents of no clear language, as short texts are, count as in one of those.
    """
    documents = Document.objects.in_workspace(workspace_id)
    # Ids are hashes, so the first ones are a random sample.
    sample = documents.order_by("doc_id").values_list("lang", flat=True)[:_SAMPLED_DOCUMENTS]
    langs = [lang.partition("-")[0] for lang in sample if counts_unclear or lang != UNDETERMINED]
    others = sum(not is_among(lang) for lang in langs if lang != UNDETERMINED)
    return 1 - others / len(langs) if {*langs} - {UNDETERMINED} else None


def update_known_share(space: EmbeddingSpace, identity: SpaceIdentity) -> None:
    """Store in the space the share of the workspace's documents in a language that the model knows."""
    share = language_share(space.workspace_id, identity.speaks, counts_unclear=True)
    spaces = EmbeddingSpace.objects.in_workspace(space.workspace_id)
    spaces.filter(pk=space.pk).exclude(known_share=share).update(known_share=share)
