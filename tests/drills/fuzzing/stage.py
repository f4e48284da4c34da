"""Workspace in which generated requests find objects of every kind, and the callers that send them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.conf import settings
from django.test import Client
from django.utils import timezone

from ingest.models import Job, JobState
from kebab.http.api.openapi_schema import schema_names
from kebab.identity.models import Group, GroupMember, Membership, Role, TokenScope, User, Workspace
from kebab.identity.tokens import mint_token
from kebab.webhooks.models import Endpoint
from search.corpus import ensure_version
from search.corpus.blobs import store_blob
from search.models import (
    Chunk,
    Document,
    EmbeddingSpace,
    Feedback,
    Judgement,
    Run,
    RunTopic,
    SavedSearch,
    Source,
    Topic,
)
from tests.drills.fuzzing.forms import Form
from tests.drills.fuzzing.pool import RULE_IDS, Pool
from tests.integration.search.answers.factories import make_answer
from tests.support.actors import make_member, make_workspace
from tests.support.api import quarantine
from tests.support.corpus import write

#: A word of a document in another workspace, which no answer may show.
CANARY = "quokkaberry"
#: The token of forms.
CSRF_TOKEN = "a" * 32
_DOCUMENTS = 20


@dataclass(frozen=True, kw_only=True)
class Target:
    """The target of fuzzing."""

    workspace: Workspace
    owner: User
    pool: Pool


def create_target() -> Target:
    """Create a workspace with objects of every kind, and another that its owner can't see."""
    workspace = make_workspace()
    owner = make_member(workspace, Role.OWNER)
    for number in range(_DOCUMENTS):
        text = f"Boat number {number} lies at its mooring."
        write(workspace, f"{number}.md", text, content_hash=store_blob(workspace.pk, text.encode()))
    write(make_workspace(), "hidden.md", f"The {CANARY} boat lies elsewhere.")
    # Identified by its id, as a request may change its slug.
    pool = Pool(str(workspace.pk), 0, known=_create_objects(workspace, owner), protected={str(owner.pk)})
    return Target(workspace=workspace, owner=owner, pool=pool)


def log_in(person: User) -> dict[str, str]:
    """Return the cookies of a new session."""
    client = Client()
    client.force_login(person)
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    return {settings.SESSION_COOKIE_NAME: session, settings.CSRF_COOKIE_NAME: CSRF_TOKEN}


def callers_of(target: Target) -> Callable[[Form], Mapping[str, str]]:
    """Return a function of a form: the headers of the owner's session, as an operator, or of a token."""
    target.owner.is_staff = target.owner.is_superuser = True
    target.owner.save()
    cookies = "; ".join(f"{name}={value}" for name, value in log_in(target.owner).items())
    signed_in = {"cookie": cookies, "x-csrftoken": CSRF_TOKEN}
    _, secret = mint_token(target.workspace, scopes=list(TokenScope))
    bearer = {"authorization": f"Bearer {secret}"}
    return lambda form: bearer if form.takes_token else signed_in


def _create_objects(workspace, owner):
    """Create objects that requests can't create, or end before others need them; return ids by argument."""
    repository = Source.objects.create(
        workspace=workspace, key="code", kind="git", config={"url": "https://git.example.org/a/b"}
    )
    uploads = Source.objects.get(workspace=workspace, key="docs")
    versions = (uploads.versions.get(), ensure_version(repository, "v1"))
    entries = [quarantine(workspace, versions[number % 2], f"{number}.bin") for number in range(20)]
    answers = [make_answer(uploads.documents.first()) for _ in range(20)]
    files = [f"file-{document.doc_id.hex}" for document in Document.objects.in_workspace(workspace)]
    return {
        "answer_id": [answer.pk for answer in answers],
        "chunk_id": [chunk.chunk_id.hex for chunk in Chunk.objects.in_workspace(workspace)],
        "email": [make_member(make_workspace(), Role.VIEWER).email for _ in range(20)],
        **_create_rows(workspace, owner, uploads),
        **_create_groups(workspace),
        **_create_evaluation(workspace, uploads),
        "entry_id": [entry.pk for entry in entries],
        "file_id": files,
        "file_ids": [[file] for file in files],
        "library_id": [uploads.library_id],
        "name": schema_names(),
        "new_name": [f"new-{number}" for number in range(100)],
        "rule_id": RULE_IDS,
        "settings": [{"default_k": number} for number in range(1, 20)],
        "source_id": [repository.pk],
        "store": [workspace.pk],
        "tag": ["v1", "v2"],
        "token_id": [mint_token(workspace, scopes=["search"])[0].pk],
    }


def _create_rows(workspace, owner, source):
    """Create saved searches, webhooks, spaces and jobs, and return their ids by argument."""
    own = Membership.objects.get(workspace=workspace, user=owner)
    searches = [
        SavedSearch.objects.create(
            workspace=workspace, membership=own, name=str(number), text="boat", mode="lexical"
        )
        for number in range(20)
    ]
    webhooks = [
        Endpoint.objects.create(
            workspace=workspace, url="https://hooks.example.org/", events=["job.failed"], sealed_secret="-"
        )
        for _ in range(20)
    ]
    retired = {"dim": 2, "state": "retired", "retire_at": timezone.now()}
    spaces = [
        EmbeddingSpace.objects.create(workspace=workspace, model=f"m{number}", revision="1", **retired)
        for number in range(20)
    ]
    jobs = [
        Job.objects.create(workspace=workspace, kind="sync_source", source=source, **state)
        for state in ({"state": JobState.FAILED, "finished_at": timezone.now()}, {"state": JobState.QUEUED})
        for _ in range(10)
    ]
    created = {"job_id": jobs, "search_id": searches, "space_id": spaces, "webhook_id": webhooks}
    return {name: [row.pk for row in rows] for name, rows in created.items()}


def _create_groups(workspace):
    """Create members, and groups of all members; return the groups' ids by argument."""
    for _ in range(5):
        make_member(workspace, Role.VIEWER)
    groups = [Group.objects.create(workspace=workspace, name=f"group {number}") for number in range(5)]
    for membership in Membership.objects.filter(workspace=workspace):
        for group in groups:
            GroupMember.objects.create(workspace=workspace, group=group, membership=membership)
    return {"group_id": [group.pk for group in groups]}


def _create_evaluation(workspace, source):
    """Create topics, judgements, feedback and runs, and return their ids by argument."""
    document = {"path": "0.md", "source": source, "place_key": source.pk}
    topics = [
        Topic.objects.create(workspace=workspace, topic_id=f"boat-{number}", text="boat")
        for number in range(30)
    ]
    for topic in topics:
        Judgement.objects.create(workspace=workspace, topic=topic, grade=1, **document)
    feedback = {"query": "boat", "query_key": source.pk, "actor": "a", "creator": "a", "is_relevant": True}
    Feedback.objects.create(workspace=workspace, **feedback, **document)
    state = {"state": "succeeded", "finished_at": timezone.now()}
    options = {"settings": {"mode": "lexical"}, "measures": ["nDCG@10"], "sources": ["docs"]}
    runs = [
        Run.objects.create(workspace=workspace, topic_set="golden", **options, **state) for _ in range(20)
    ]
    for run in runs:
        RunTopic.objects.create(
            workspace=workspace,
            run=run,
            ordinal=0,
            topic_id="boat-0",
            text="boat",
            judgements=[["docs", "", "0.md", "", 1]],
            ranking=[["docs", "", "0.md", "L1-L9", 0.5]],
            measures={"nDCG@10": 1.0},
            ms=1.0,
            is_empty=False,
            is_refused=False,
        )
    return {
        "path": [f"{number}.md" for number in range(_DOCUMENTS)],
        "run_id": [run.pk for run in runs],
        "set": ["golden"],
        "source_key": ["docs"],
        "none": [""],
        "topic_id": [topic.pk for topic in topics],
    }
