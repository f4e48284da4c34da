"""What uploads don't bring: sources in every state, jobs on their way, judged queries, an answer."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from ingest.models import Job, JobItem
from kebab.people.models import User, Workspace
from search.corpus import ensure_source, ensure_version
from search.models import Document, Feedback, Judgement, Run, RunTopic, Source, Topic
from tests.answers.making import make_answer
from tests.api.making import quarantine
from tests.pages.shelf import Passage, passages_of, shelve
from tests.unit.ingest.real_files import content_of

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
    """Shelve a picture with a passage in a region of it; give its id."""
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
    """Shelve a document of text that breaks layouts; give its id."""
    return shelve(
        workspace,
        f"{HOSTILE_WORD}.md",
        HOSTILE_TEXT,
        passages=passages_of(HOSTILE_TEXT, section_label=HOSTILE_WORD),
        title=f"{HOSTILE_WORD} הרציף 👩‍✈️",
        tags=("t" * 100, "הרציף", "👩‍✈️"),
    ).doc_id.hex


def fill_sources(workspace: Workspace) -> dict[str, str]:
    """Make sources of every kind and state, jobs that wait, run and have failed, a file set aside."""
    now = timezone.now()
    git = ensure_source(workspace, "charts", kind="git")
    web = ensure_source(workspace, "tide-tables", kind="web")
    folder = ensure_source(workspace, "logbooks", kind="folder")
    told: dict[Source, dict[str, Any]] = {
        git: {"config": {"url": "https://git.example.org/charts.git"}, "title": "Charts", "state": "indexed"},
        web: {"config": {"url": "https://tides.example.org/"}, "title": "Tide tables", "state": "error"},
        folder: {
            "config": {"path": "/srv/logbooks"},
            "title": "Logbooks",
            "state": "indexing",
            "watch": True,
        },
    }
    for source, fields in told.items():
        Source.objects.filter(pk=source.pk).update(last_sync_at=now, **fields)
    running = _job(
        folder, "sync_source", "running", current_path="1987/march.txt", items_total=40, items_done=12
    )
    Job.objects.filter(pk=running.pk).update(lease_until=now + timedelta(days=1))
    failed = _job(web, "sync_source", "failed", error="tides.example.org doesn't answer.", finished_at=now)
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
    """Make a judged query, two runs that asked it, what somebody said of a hit, and an answer to `asker`."""
    source = Source.objects.in_workspace(workspace).get(key="handbook")
    own = {"workspace": workspace, "created_by": _ASKER, "creator": "user:0"}
    place = {"path": _PLACE, "source": source, "place_key": source.pk}
    topic = Topic.objects.create(topic_set="golden", topic_id="springs", text=_QUESTION, **own)
    Judgement.objects.create(workspace=workspace, topic=topic, grade=1, **place)
    runs = [_run(source, topic, number, own) for number in range(2)]
    Feedback.objects.create(
        workspace=workspace,
        query=_QUESTION,
        query_key=source.pk,
        actor=_ASKER,
        creator="user:0",
        is_relevant=True,
        **place,
    )
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
    ids = {"topic_id": topic, "run_id": runs[0], "baseline": runs[1], "answer_id": answer}
    return {name: str(row.pk) for name, row in ids.items()} | {
        "conversation_id": str(answer.conversation_id),
        "n": "1",
    }


def _run(source: Source, topic: Topic, number: int, own: dict[str, Any]) -> Run:
    figure = {"nDCG@10": 0.8 + number / 10}
    run = Run.objects.create(
        name=f"after change {number + 1}",
        topic_set="golden",
        state="succeeded",
        settings={"mode": "hybrid", "k": 10},
        measures=["nDCG@10"],
        figures={"measures": figure, "index_version": "lex-1"},
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
        judgements=[[source.key, "", _PLACE, "", 1]],
        ranking=[[source.key, "", _PLACE, "L20-L21", 0.5]],
        measures=figure,
        ms=3.0,
        is_empty=False,
        is_refused=False,
    )
    return run
