"""Topics and relevance judgements as values, shared by files, runs and measures."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import quote, unquote

from search.models.document import MAX_PATH_CHARS
from search.models.evaluation import MAX_SET_CHARS, MAX_TOPIC_CHARS, MAX_TOPIC_ID_CHARS
from search.models.source import MAX_TAG_CHARS
from search.retrieval.citation import Citation, build_uri, parse_uri
from search.retrieval.errors import InvalidCitation, InvalidFilter, InvalidJudgedSet, preview
from search.retrieval.query.filter_codec import filters_from_json
from search.retrieval.text.sanitize import is_storable

MAX_TOPICS = 10_000
MAX_QRELS = 10_000
MIN_GRADE = -10
MAX_GRADE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentName:
    """Name of a document that is stable across ingestion: source, version and path."""

    path: str
    #: The source's key; None: any source.
    source: str | None = None
    #: '' is the default version.
    version: str = ""

    def __str__(self) -> str:
        """Return `source@version:path` without spaces and without absent parts.

        Spaces, unprintable characters, `%` and the separators are percent-encoded.
        """
        at = f"@{_encode(self.version, ':@')}" if self.version else ""
        before = f"{self.source or ''}{at}"
        return f"{before}:{_encode(self.path, ':')}" if before else _encode(self.path, ":")

    @classmethod
    def parse(cls, text: str) -> "DocumentName":
        """Parse a document name; the inverse of `str`."""
        before, separator, path = text.partition(":")
        if not separator:
            return cls(path=unquote(text))
        source, _, version = before.partition("@")
        return cls(path=unquote(path), source=source or None, version=unquote(version))


def encode_id(topic_id: str) -> str:
    """Encode a topic's id without spaces for TREC files; `unquote` is the inverse."""
    return _encode(topic_id, "")


def _encode(text: str, separators: str) -> str:
    return "".join(
        quote(char, safe="") if char in f"%{separators}" or char.isspace() or not char.isprintable() else char
        for char in text
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Qrel:
    """Relevance of a document, or of a place in it, to a topic. Raises: InvalidJudgedSet."""

    path: str
    #: The source's key; None: any source.
    source: str | None = None
    version: str = ""
    #: Part of a citation after its `#`, like `L7-L12`; '' is the whole document.
    fragment: str = ""
    #: Above 0 is relevant.
    grade: int = 1

    def __post_init__(self) -> None:
        for name, text, most in (
            ("path", self.path, MAX_PATH_CHARS),
            ("version", self.version, MAX_TAG_CHARS),
        ):
            if not isinstance(text, str) or not is_storable(text) or len(text) > most:
                raise InvalidJudgedSet(
                    f"The {name} {preview(text)} must be a text of at most {most:,} characters."
                )
        if not self.path.strip():
            raise InvalidJudgedSet("A judgement has an empty path; name the document that it is about.")
        if isinstance(self.grade, bool) or not isinstance(self.grade, int):
            raise InvalidJudgedSet(
                f"The grade {preview(self.grade)} is not a whole number; give 1 for relevant."
            )
        if not MIN_GRADE <= self.grade <= MAX_GRADE:
            raise InvalidJudgedSet(
                f"The grade {self.grade} is out of range; give {MIN_GRADE} to {MAX_GRADE}, 1 for relevant."
            )
        if self.fragment:
            _check_place(self.path, self.fragment)

    @property
    def document(self) -> DocumentName:
        """Return the name of the judged document."""
        return DocumentName(path=self.path, source=self.source, version=self.version)

    @property
    def citation(self) -> str:
        """Return the URI of the judged place or document."""
        return build_uri(self.path, self.fragment)

    @property
    def place(self) -> Citation | None:
        """Return the judged place; None: the whole document."""
        return parse_uri(self.citation) if self.fragment else None


def _check_place(path: str, fragment: str) -> None:
    try:
        parse_uri(build_uri(path, fragment))
    except InvalidCitation as error:
        raise InvalidJudgedSet(str(error)) from error


@dataclass(frozen=True, kw_only=True)
class JudgedTopic:
    """A query with an id and its judgements. Raises: InvalidJudgedSet, naming value and remedy."""

    topic_id: str
    text: str
    #: As in a search request.
    filters: Mapping[str, Any] = field(default_factory=dict)
    qrels: tuple[Qrel, ...] = ()
    #: Whether no answer, or a refusal, is right.
    is_unanswerable: bool = False

    def __post_init__(self) -> None:
        _check_text("topic id", self.topic_id, MAX_TOPIC_ID_CHARS)
        if self.topic_id != self.topic_id.strip() or not self.topic_id.isprintable():
            raise InvalidJudgedSet(
                f"The topic id {preview(self.topic_id)} begins or ends with a space, or can't be printed."
            )
        _check_text(f"query of topic {preview(self.topic_id)}", self.text, MAX_TOPIC_CHARS)
        try:
            filters_from_json(self.filters)
        except InvalidFilter as error:
            raise InvalidJudgedSet(f"Topic {preview(self.topic_id)}: {error}") from error
        self._check_qrels()

    def _check_qrels(self) -> None:
        if len(self.qrels) > MAX_QRELS:
            raise InvalidJudgedSet(
                f"Topic {preview(self.topic_id)} has {len(self.qrels):,} judgements;"
                f" give up to {MAX_QRELS:,}."
            )
        seen: set[tuple[DocumentName, str]] = set()
        for qrel in self.qrels:
            if (qrel.document, qrel.fragment) in seen:
                raise InvalidJudgedSet(
                    f"Topic {preview(self.topic_id)} judges {preview(qrel.citation)} twice;"
                    " keep one of the two."
                )
            seen.add((qrel.document, qrel.fragment))
        if self.is_unanswerable and any(qrel.grade > 0 for qrel in self.qrels):
            raise InvalidJudgedSet(
                f"Topic {preview(self.topic_id)} is unanswerable and has a relevant document; decide for one."
            )

    @property
    def is_judged(self) -> bool:
        """Return whether its ranking can be measured."""
        return bool(self.qrels) and not self.is_unanswerable

    @cached_property
    def grades(self) -> dict[DocumentName, int]:
        """Return the best grade of each judged document."""
        grades: dict[DocumentName, int] = {}
        for qrel in self.qrels:
            grades[qrel.document] = max(qrel.grade, grades.get(qrel.document, qrel.grade))
        return grades


def _check_text(name: str, text: object, most: int) -> None:
    if not isinstance(text, str) or not text.strip() or not is_storable(text):
        raise InvalidJudgedSet(f"The {name} is {preview(text)}; it must be a text that isn't empty.")
    if len(text) > most:
        raise InvalidJudgedSet(f"The {name} has {len(text):,} characters; give {most:,} at most.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCollection:
    """Topics of a set with unique ids. Raises: InvalidJudgedSet."""

    topics: tuple[JudgedTopic, ...]
    #: Name of their set, if known.
    topic_set: str | None = None

    def __post_init__(self) -> None:
        if self.topic_set is not None:
            check_set_name(self.topic_set)
        if len(self.topics) > MAX_TOPICS:
            raise InvalidJudgedSet(f"There are {len(self.topics):,} topics; give {MAX_TOPICS:,} at most.")
        seen: set[str] = set()
        for topic in self.topics:
            if topic.topic_id in seen:
                raise InvalidJudgedSet(
                    f"The topic {preview(topic.topic_id)} is there twice; keep one of the two."
                )
            seen.add(topic.topic_id)


def check_set_name(name: str) -> str:
    """Return the name of a set unchanged. Raises InvalidJudgedSet for an invalid one."""
    _check_text("name of the set", name, MAX_SET_CHARS)
    if name != unicodedata.normalize("NFC", name) or name != name.strip() or not name.isprintable():
        raise InvalidJudgedSet(
            f"The name of a set {preview(name)} is not printable, in NFC and without edges."
        )
    return name
