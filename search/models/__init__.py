"""Tables of the corpus in Postgres, the source of truth that mirrors and vector indexes are built from."""

from search.models import lookups  # noqa: F401  registers them
from search.models.answer import AnswerDocument, KeptAnswer
from search.models.bookmark import Bookmark
from search.models.change import Change
from search.models.chunk import Chunk
from search.models.document import Document, MediaKind, Trust
from search.models.evaluation import Feedback, Judgement, Run, RunState, RunTopic, Topic, TopicOrigin
from search.models.query_log import AskedQuery, Door, QueryReview, ReviewState
from search.models.saved_search import AlertDocument, Notify, SavedSearch
from search.models.source import Source, SourceReader, SourceState, SourceVersion, is_readable
from search.models.source_kind import SourceKind
from search.models.vector import ChunkVector, EmbeddingSpace, SpaceState

__all__ = [
    "AlertDocument",
    "AnswerDocument",
    "AskedQuery",
    "Bookmark",
    "Change",
    "Chunk",
    "ChunkVector",
    "Document",
    "Door",
    "EmbeddingSpace",
    "Feedback",
    "Judgement",
    "KeptAnswer",
    "MediaKind",
    "Notify",
    "QueryReview",
    "ReviewState",
    "Run",
    "RunState",
    "RunTopic",
    "SavedSearch",
    "Source",
    "SourceKind",
    "SourceReader",
    "SourceState",
    "SourceVersion",
    "SpaceState",
    "Topic",
    "TopicOrigin",
    "Trust",
    "is_readable",
]
