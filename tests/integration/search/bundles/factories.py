"""Workspaces for bundles, and the rows that an import must restore."""

from datetime import UTC, datetime
from typing import Any

from django.utils import timezone

from kebab.identity.models import Group, Workspace
from search.corpus.blobs import store_blob
from search.corpus.content_ids import place_key
from search.models import Chunk, ChunkVector, Document, Judgement, Run, RunTopic, Source, SourceReader, Topic
from tests.support.corpus import chunk, restrict, write
from tests.support.search import embed, sync

WORDS = ("harbour", "lighthouse", "ferry", "anchor", "compass", "tide", "mooring", "buoy", "deck", "sail")

QUERIES = (
    *WORDS,
    "where is the lighthouse near the ferry",
    "`find_harbour()`",
    '"look for the"',
    "vault dawn",
    "'harbour OR tide'",
)


def fill(workspace: Workspace, documents: int = 12) -> Workspace:
    """Write documents of two sources and versions, a restricted one, vectors, topics and runs."""
    for number in range(documents):
        _write(workspace, number)
    secret = b"The vault opens at dawn."
    write(
        workspace,
        "vault.md",
        chunk(secret.decode(), 0, heading="Vault"),
        source="secrets",
        content_hash=store_blob(workspace.pk, secret),
        tags=("locked",),
    )
    group = Group.objects.create(workspace=workspace, name="keepers")
    restrict(Source.objects.in_workspace(workspace).get(key="secrets"), group)
    embed(workspace)
    _judge(workspace)
    workspace.refresh_from_db()
    sync(workspace)
    return workspace


def _write(workspace: Workspace, number: int) -> None:
    word, other = WORDS[number % len(WORDS)], WORDS[(number * 3 + 1) % len(WORDS)]
    texts = [f"The {word} is near the {other}, {nth} miles off part {number}." for nth in range(3)]
    texts.append("Call `find_harbour()` and look for the lighthouse.")
    content = "\n".join(texts).encode()
    write(
        workspace,
        f"guides/{number:03}.md",
        *(chunk(text, nth, heading=f"Guide {word}") for nth, text in enumerate(texts)),
        version="v2" if number % 5 == 4 else "",
        content_hash=store_blob(workspace.pk, content),
        size_bytes=len(content),
        tags=(word, "guide"),
        title=f"Guide {number}",
        trust_level="primary" if number % 2 else "unknown",
        metadata={"number": number, "nested": {"ÿ": [1.5, None, True]}},
        source_mtime_ns=1_700_000_000_000_000_000 + number,
        requested_at=datetime(2026, 3, 1, 12, number % 60, tzinfo=UTC),
    )


def _judge(workspace: Workspace) -> None:
    source = Source.objects.in_workspace(workspace).get(key="docs")
    topic = Topic.objects.create(
        workspace=workspace, topic_id="t1", text="where is the ferry", created_by="ada@example.org"
    )
    for source_id, path in ((source.pk, "guides/002.md"), (None, "gone.md")):
        Judgement.objects.create(
            workspace=workspace,
            topic=topic,
            source_id=source_id,
            path=path,
            grade=2,
            place_key=place_key(source_id, "", path),
        )
    run = Run.objects.create(
        workspace=workspace, name="first", topic_set="golden", state="succeeded", finished_at=timezone.now()
    )
    RunTopic.objects.create(workspace=workspace, run=run, ordinal=0, topic_id="t1", text="where", ms=1.25)
    Run.objects.create(workspace=workspace, topic_set="golden", state="running")


def rows_of(workspace: Workspace) -> dict[str, list[dict[str, Any]]]:
    """Return the rows that an import must bring back, by model, without ids of the database."""
    models = (Document, Chunk, ChunkVector, Topic, Judgement, Run, RunTopic, Source, SourceReader, Group)
    return {model.__name__: _rows(model, workspace) for model in models}


_SOURCE = ("source__key",)
_NAMED: dict[str, tuple[tuple[str, ...], frozenset[str]]] = {
    "Document": (("source__key", "version__tag"), frozenset()),
    "Chunk": (("document__doc_id",), frozenset()),
    "ChunkVector": (("space__model", "space__epoch", "space__state"), frozenset({"version_id", "written"})),
    "Topic": ((), frozenset({"created_by"})),
    "Judgement": (("topic__topic_id", "source__key"), frozenset({"place_key"})),
    "Run": ((), frozenset()),
    "RunTopic": (("run__name",), frozenset()),
    "Source": ((), frozenset()),
    "SourceReader": (("source__key", "group__name"), frozenset()),
    "Group": ((), frozenset({"created_at"})),
}
_OWN = frozenset({"id", "workspace", "source", "version", "document", "space", "topic", "run", "group"})


def _rows(model: Any, workspace: Workspace) -> list[dict[str, Any]]:
    named, changing = _NAMED[model.__name__]
    fields = [
        field.name
        for field in model._meta.concrete_fields
        if field.name not in _OWN | changing or (field.name == "version" and model is Judgement)
    ]
    rows = model.objects.filter(workspace=workspace)
    if model is Run:
        rows = rows.exclude(state="running")
    found = [{name: _plain(value) for name, value in row.items()} for row in rows.values(*fields, *named)]
    return sorted(found, key=repr)


def _plain(value: Any) -> Any:
    return value.to_list() if hasattr(value, "to_list") else value
