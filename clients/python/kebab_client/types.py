"""Types of what the operations take and return: dictionaries with the names of the API's JSON.

The server may add fields. Texts with few values, as `state`, are `str` for the same reason.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

Mode: TypeAlias = Literal["lexical", "vector", "hybrid"]
Trust: TypeAlias = Literal["primary", "secondary", "generated", "unknown"]


class Filters(TypedDict, total=False):
    """Filters of a search: values of one filter are alternatives, and all filters must match."""

    tags_any: Sequence[str]
    lang: Sequence[str]
    path_glob: Sequence[str]
    path_not_glob: Sequence[str]
    trust_min: Trust
    source: Sequence[str]
    version: Sequence[str]
    kind: Sequence[Literal["code", "info"]]
    code_lang: Sequence[str]
    media: Sequence[str]
    doc_id: Sequence[str]
    ingested_after: str
    author: Sequence[str]
    dated_after: str
    dated_before: str
    metadata: Mapping[str, Any]


class AskOptions(TypedDict, total=False):
    """Options of a question."""

    mode: Mode
    k: int
    filters: Filters
    min_seq: int | str
    conversation_id: str
    recency: float


class RankingOptions(TypedDict, total=False):
    """Options of searches."""

    mode: Mode
    fusion: Literal["rrf", "convex"]
    exact: bool
    typos: bool
    operators: bool
    prefix: bool
    group: Literal["passage", "document"]
    sort: Literal["relevance", "date", "date_asc", "title"]
    recency: float
    k: int
    snippet_chars: int
    include: Sequence[Literal["text", "metadata"]]
    max_text_chars: int
    per_file_cap: int
    rerank: bool
    cutoff: bool
    floor: bool
    filters: Filters
    channels: Mapping[str, Any]


class SearchOptions(RankingOptions, total=False):
    """Options of a search of one workspace."""

    facets: Sequence[str]
    max_facet_values: int
    explain: bool
    why_not: str
    min_seq: int | str


class SeveralOptions(RankingOptions, total=False):
    """Options of a search of several workspaces."""

    workspaces: Sequence[str]
    per_workspace: int


class ContextOptions(TypedDict, total=False):
    """Options of a context pack."""

    technical_terms: Sequence[str]
    budget: int | Mapping[Literal["chars", "tokens"], int]
    filters: Filters
    mode: Mode
    fusion: Literal["rrf", "convex"]
    channels: Mapping[str, Any]
    k: int
    per_file_cap: int
    rerank: bool
    cutoff: bool
    expand: Mapping[str, Any]
    by_file: bool
    response_mode: Literal["text", "overview"]
    min_seq: int | str


class DocumentsOptions(TypedDict, total=False):
    """Options of a list of documents."""

    path: str
    path_prefix: str
    source: Sequence[str]
    version: Sequence[str]
    order: Literal["path", "date", "-date"]


class UploadOptions(TypedDict, total=False):
    """Options of an upload: where it goes, and what is stated in place of what is found in the document."""

    source: str
    version: str
    embed: bool
    batch: str
    title: str
    tags: Sequence[str]
    lang: str
    trust_level: Trust
    metadata: Mapping[str, Any]
    status: str
    superseded_by: str


class NewText(UploadOptions):
    """A document of a bulk upload."""

    path: str
    text: str


class Workspace(TypedDict):
    """A workspace."""

    id: str
    slug: str
    name: str
    role: str | None
    seq: int
    settings: dict[str, Any]
    quota: dict[str, int | None]
    created_at: str


class Citation(TypedDict):
    """The place of a passage in its document; `uri` names all of it, as `a/b.md#L7-L12`."""

    kind: str
    path: str
    section: str | None
    start: int | None
    end: int | None
    page: int | None
    x: int | None
    y: int | None
    w: int | None
    h: int | None
    start_s: float | None
    end_s: float | None
    uri: str


class Hit(TypedDict):
    """A passage that was found."""

    schema_version: str
    rank: int
    score: float
    chunk_id: str
    doc_id: str
    doc_path: str
    title: str
    heading_path: list[str]
    section_label: str
    snippet: str
    highlights: list[list[int]]
    citation: Citation
    retrieval: dict[str, Any]
    index_version: str
    chunker_version: str
    embedding_model: str | None
    indexed_at: str
    stale: bool
    source: str
    version: str | None
    lang: str
    tags: list[str]
    trust_level: str
    code_lang: str | None
    date: str
    author: str | None
    related: bool
    other_language: bool
    outdated: bool
    replaced_by: dict[str, str] | None
    older: list[dict[str, str]]
    also_in: list[str]
    sections: list[dict[str, Any]] | None
    section_count: int | None
    text: str | None
    metadata: dict[str, Any] | None


class SearchResponse(TypedDict):
    """The answer to a search, best hit first."""

    schema_version: str
    query: str
    mode: str
    index_version: str
    seq: int
    lag: int
    took_ms: float
    degraded: list[str]
    warnings: list[str]
    rerank: dict[str, Any] | None
    lexical_total: dict[str, Any] | None
    vector_window: dict[str, Any] | None
    hits: list[Hit]
    related_total: int
    next_cursor: str | None
    corrected_query: str | None
    did_you_mean: str | None
    explain: dict[str, Any] | None
    facets: dict[str, Any] | None
    promoted: list[dict[str, Any]]


class WorkspaceHit(TypedDict):
    """A hit and its workspace."""

    workspace: str
    hit: Hit


class SeveralResponse(TypedDict):
    """The answer to a search of several workspaces."""

    schema_version: str
    query: str
    took_ms: float
    hits: list[WorkspaceHit]
    workspaces: list[dict[str, Any]]


class Suggestions(TypedDict):
    """Suggestions for a query that is being typed."""

    schema_version: str
    query: str
    suggestions: list[dict[str, Any]]
    degraded: list[str]


class Document(TypedDict):
    """A document without its text."""

    id: str
    path: str
    title: str
    source: str
    source_id: str
    version: str | None
    lang: str
    tags: list[str]
    trust_level: str
    mime: str
    media: str
    size_bytes: int
    content_hash: str
    chunk_count: int
    overrides: dict[str, Any]
    metadata: dict[str, Any]
    omissions: list[dict[str, Any]]
    parser_version: str
    chunker_version: str
    indexed_at: str
    date: str
    author: str | None


class Chunk(TypedDict):
    """A passage of a document."""

    id: str
    doc_id: str
    ordinal: int
    kind: str
    code_lang: str | None
    heading_path: list[str]
    breadcrumb: str
    section_label: str
    text: str
    spans: list[dict[str, Any]]
    citation: Citation
    token_count: int


class Job(TypedDict):
    """Work on documents; `report` is that of a job by its id."""

    id: str
    kind: str
    state: str
    source: str | None
    path: str | None
    is_listed: bool
    items_listed: int
    items_total: int
    items_done: int
    bytes_done: int
    chunks_done: int
    current_path: str
    items_per_s: float | None
    eta_s: float | None
    cancel_requested: bool
    error: str | None
    refused: dict[str, int]
    seq: int | None
    requested_by: str
    created_at: str
    started_at: str | None
    finished_at: str | None
    report: NotRequired[dict[str, Any] | None]
    seq_token: NotRequired[str | None]


class PlacedDocument(TypedDict):
    """The document that an upload becomes."""

    id: str
    path: str
    source: str
    version: str | None


class Accepted(TypedDict):
    """An upload, its job, and the change from which on it is found; no document: an archive."""

    document: PlacedDocument | None
    job: Job
    seq: int | None
    seq_token: str | None


class BulkResult(TypedDict):
    """The answer to a document of a bulk upload: an upload, or an error."""

    accepted: Accepted | None
    problem: dict[str, Any] | None


class AnswerCitation(TypedDict):
    """A passage that an answer cites; the text names it as `[#n]`."""

    n: int
    chunk_id: str
    doc_id: str
    title: str
    heading_path: list[str]
    source: str
    version: str | None
    trust_level: str
    citation: Citation
    quote: str
    uri: str


class Answer(TypedDict):
    """An answer to a question."""

    schema_version: str
    answer_id: str
    conversation_id: str
    asked_by: str
    question: str
    text: str
    state: str
    reason: str | None
    citations: list[AnswerCitation]
    hits: list[dict[str, Any]]
    model: str | None
    usage: dict[str, int | None] | None
    mode: str
    index_version: str
    seq: int
    lag: int
    took_ms: float
    created_at: str
    degraded: list[str]
    warnings: list[str]


class ContextPack(TypedDict):
    """Passages for an information request, best file first, within a budget."""

    schema_version: str
    information_request: str
    technical_terms: list[str]
    response_mode: str
    mode: str
    index_version: str
    seq: int
    lag: int
    took_ms: float
    degraded: list[str]
    warnings: list[str]
    rerank: dict[str, Any] | None
    budget: dict[str, Any]
    left_out: int
    overview: dict[str, Any] | None
    files: list[dict[str, Any]]
