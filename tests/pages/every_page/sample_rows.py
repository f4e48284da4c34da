"""Rows that uploads do not create: sources in every state, running jobs, judged queries, an answer."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from ingest.models import Job, JobItem
from kebab.identity.models import User, Workspace
from search.corpus import ensure_source, ensure_version
from search.models import Document, Feedback, Judgement, Run, RunTopic, Source, Topic
from tests.integration.search.answers.factories import make_answer
from tests.pages.query_log.factories import make_query
from tests.pages.search.shelf import Passage, passages_of, shelve
from tests.support.api import quarantine
from tests.support.samples import content_of

_ASKER = "editor@harbour.example"
_QUESTION = "How many springs does a boat need?"
_PLACE = "moorings.md"
# Text that breaks layouts: a word without an end, from right to left, signs of two code points, no markup.
HOSTILE_WORD = "Donaudampfschifffahrtsgesellschaftskapitänsmütze" * 7
HOSTILE_TEXT = f"""{HOSTILE_WORD}

הרציף הארוך פתוח למבקרים מן הבוקר עד הערב, והמים עמוקים שלושה מטרים.

⚓️🚢🌊👩‍✈️🏴‍☠️ {"🚢" * 200}

<b onmouseover=alert(1)>not bold</b> <script>alert(1)</script>

{"|".join(["wide"] * 400)}
"""


def shelve_picture(workspace: Workspace) -> str:
    """Shelve a picture with a passage in a region of it; return its id."""
    span = {"kind": "region", "x": 34, "y": 42, "w": 504, "h": 193}
    document = shelve(
        workspace,
        "notice.png",
        content_of("image/notice.png").decode("latin-1"),
        charset="latin-1",
        passages=[Passage(text="The ferry leaves at the ebb.", section_label="Notice", spans=[span])],
        media="image",
        mime="image/png",
        metadata={"width": 900, "height": 360},
        title="Notice on the pier",
    )
    return document.doc_id.hex


def shelve_hostile(workspace: Workspace) -> str:
    """Shelve a document of text that breaks layouts; return its id."""
    return shelve(
        workspace,
        f"{HOSTILE_WORD}.md",
        HOSTILE_TEXT,
        passages=passages_of(HOSTILE_TEXT, section_label=HOSTILE_WORD),
        title=f"{HOSTILE_WORD} הרציף 👩‍✈️",
        tags=("t" * 100, "הרציף", "👩‍✈️"),
    ).doc_id.hex


def fill_sources(workspace: Workspace) -> dict[str, str]:
    """Create sources of every kind and state, jobs in every state, and a quarantined file."""
    now = timezone.now()
    git = ensure_source(workspace, "charts", kind="git")
    web = ensure_source(workspace, "tide-tables", kind="web")
    folder = ensure_source(workspace, "logbooks", kind="folder")
    changes: dict[Source, dict[str, Any]] = {
        git: {"config": {"url": "https://git.example.org/charts.git"}, "title": "Charts", "state": "indexed"},
        web: {"config": {"url": "https://tides.example.org/"}, "title": "Tide tables", "state": "error"},
        folder: {
            "config": {"path": "/srv/logbooks"},
            "title": "Logbooks",
            "state": "indexing",
            "watch": True,
        },
    }
    for source, fields in changes.items():
        Source.objects.filter(pk=source.pk).update(last_sync_at=now, **fields)
    running = _job(
        folder, "sync_source", "running", current_path="1987/march.txt", items_total=40, items_done=12
    )
    Job.objects.filter(pk=running.pk).update(lease_until=now + timedelta(days=1))
    failed = _job(
        web,
        "sync_source",
        "failed",
        error="tides.example.org doesn't answer.",
        finished_at=now,
        refused_items=1,
        needs_attention=True,
    )
    JobItem.objects.create(
        workspace=workspace,
        job=failed,
        path="spring.html",
        action="ingest",
        state="failed",
        outcome="failed",
        reason="not_text",
        detail="This is no text.",
    )
    _job(git, "sync_source", "queued")
    entry = quarantine(workspace, ensure_version(folder), "1987/scan.pdf")
    return {
        "running": str(running.pk),
        "failed": str(failed.pk),
        "entry_id": str(entry.pk),
        "git": str(git.pk),
    }


def _job(source: Source, kind: str, state: str, **fields: Any) -> Job:
    started = None if state == "queued" else timezone.now()
    own = {"workspace": source.workspace, "source": source, "requested_by": _ASKER, "started_at": started}
    return Job.objects.create(kind=kind, state=state, **own, **fields)


def fill_evaluation(workspace: Workspace, asker: User) -> dict[str, str]:
    """Create the rows of `fill_topics`, logged queries, and an answer to `asker`."""
    ids = fill_topics(Source.objects.in_workspace(workspace).get(key="handbook"), _PLACE)
    _ask_queries(workspace)
    document = Document.objects.in_workspace(workspace).select_related("source").get(path=_PLACE)
    answer = make_answer(
        document,
        heading="Ropes",
        quote="Two springs and a breast rope are the least.",
        question=_QUESTION,
        asked_by=asker.email,
        creator=f"user:{asker.pk}",
        text="Two springs and a breast rope are the least [#1].",
    )
    own = {"answer_id": answer.pk, "conversation_id": answer.conversation_id, "n": 1}
    own["unfinished"] = _unfinished_run(workspace).pk
    return ids | {name: str(value) for name, value in own.items()}


def fill_topics(source: Source, path: str) -> dict[str, str]:
    """Create a query judged by the document at `path`, runs that asked it, and feedback on a hit."""
    own = {"workspace": source.workspace, "created_by": _ASKER, "creator": "user:0"}
    place = {"path": path, "source": source, "place_key": source.pk}
    topic = Topic.objects.create(topic_set="golden", topic_id="springs", text=_QUESTION, **own)
    Judgement.objects.create(workspace=source.workspace, topic=topic, grade=1, **place)
    runs = [_run(source, topic, number, path, own) for number in range(2)]
    Feedback.objects.create(
        workspace=source.workspace,
        query=_QUESTION,
        query_key=source.pk,
        actor=_ASKER,
        creator="user:0",
        is_relevant=True,
        **place,
    )
    ids = {"topic_id": topic, "run_id": runs[0], "baseline": runs[1]}
    return {name: str(row.pk) for name, row in ids.items()}


def _unfinished_run(workspace: Workspace) -> Run:
    run = Run.objects.create(workspace=workspace, topic_set="golden", state="running", name="on its way")
    for number in range(3):
        RunTopic.objects.create(
            workspace=workspace,
            run=run,
            ordinal=number,
            topic_id=f"springs-{number}",
            text=_QUESTION,
            ranking=None if number else [],
        )
    return run


def _ask_queries(workspace: Workspace) -> None:
    """Log queries of some days with and without results; one text breaks layouts."""
    for number in range(8):
        make_query(workspace, _QUESTION, days_ago=number, took_ms=10.0 + number)
    make_query(workspace, "How deep is the lake?", hits=0, lexical_total=0, days_ago=2)
    make_query(workspace, f"{HOSTILE_WORD} הרציף 👩‍✈️", mode="lexical", door="api", degraded=["vector"])


def _run(source: Source, topic: Topic, number: int, path: str, own: dict[str, Any]) -> Run:
    figure = {"nDCG@10": 0.8 + number / 10}
    run = Run.objects.create(
        name=f"after change {number + 1}",
        topic_set="golden",
        state="succeeded",
        settings={"mode": "hybrid", "k": 10},
        measures=["nDCG@10"],
        figures={"measures": figure, "index_version": "lex-1", "p50_ms": 4.0 + number, "p95_ms": 9.0},
        sources=[source.key],
        finished_at=timezone.now(),
        **own,
    )
    RunTopic.objects.create(
        workspace=source.workspace,
        run=run,
        ordinal=0,
        topic_id="springs",
        text=_QUESTION,
        judgements=[[source.key, "", path, "", 1]],
        ranking=[[source.key, "", path, "L20-L21", 0.5]],
        measures=figure,
        ms=3.0,
        is_empty=False,
        is_refused=False,
    )
    return run
