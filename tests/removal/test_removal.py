"""Who may no longer see something sees it no more from the next request on, whatever was kept or is open."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings as django_settings
from django.db import connection
from django.test import AsyncClient
from django.utils import timezone

from ingest.api import events
from ingest.models import Job
from kebab.people.models import (
    ApiToken,
    Group,
    GroupMember,
    Membership,
    Role,
    Scope,
    TokenGroup,
    User,
    Workspace,
)
from kebab.people.tokens import mint_token
from search import node
from search.models import Source, SourceReader
from tests.api.making import address, embed
from tests.api_plumbing.actors import bearer_client, make_member, make_workspace, person_client
from tests.corpus.making import write

pytestmark = pytest.mark.django_db(transaction=True)
_PATIENCE_S = 20
_WORD = "velmoor"


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A restricted source, one who reads it, and an owner who may end that."""

    workspace: Workspace
    source: Source
    group: Group
    doc_id: str
    job: Job
    owner: Any
    member: User
    token: ApiToken
    secret: str


@pytest.fixture(autouse=True)
def _files(settings, tmp_path, mirrors, monkeypatch):
    settings.KEBAB_LEG_LIMIT_MS = 60_000
    settings.STORAGES = {
        **settings.STORAGES,
        "default": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": tmp_path / "blobs"},
        },
    }
    monkeypatch.setattr(events, "_POLL_S", 0.005)


@pytest.fixture
def scene(transactional_db):
    workspace = make_workspace()
    for number in range(3):
        write(workspace, f"open{number}.md", f"Open text number {number} of the harbour.", source="open")
        written = write(
            workspace, f"{_WORD}{number}.md", f"The {_WORD} of the harbour, {number}.", source="closed"
        )
    source = Source.objects.get(workspace=workspace, key="closed")
    group = Group.objects.create(workspace=workspace, name="crew")
    Source.objects.filter(pk=source.pk).update(is_restricted=True)
    SourceReader.objects.create(workspace=workspace, source=source, group=group)
    embed(workspace)
    workspace.refresh_from_db()
    node.wait_for_seq(workspace.pk, workspace.head_seq, limit_s=20)
    member = make_member(workspace, Role.EDITOR)
    membership = Membership.objects.get(user=member)
    GroupMember.objects.create(workspace=workspace, group=group, membership=membership)
    token, secret = mint_token(workspace, scopes=Scope, groups=[group])
    return Scene(
        workspace=workspace,
        source=source,
        group=group,
        doc_id=written.doc_id.hex,
        job=Job.objects.create(workspace=workspace, kind="sync_source", source=source, current_path=_WORD),
        owner=person_client(make_member(workspace, Role.OWNER)),
        member=member,
        token=token,
        secret=secret,
    )


def _sent(scene: Scene, method: str, tail: str, body: Any = None) -> None:
    answer = getattr(scene.owner, method)(address(scene.workspace, tail), body, format="json")
    assert answer.status_code < 300, answer.content


def remove_member(scene):
    _sent(scene, "delete", f"/members/{scene.member.pk}")


def deactivate_person(scene):
    User.objects.filter(pk=scene.member.pk).update(is_active=False)


def take_from_group(scene):
    _sent(scene, "delete", f"/groups/{scene.group.pk}/members/{scene.member.pk}")


def delete_group(scene):
    _sent(scene, "delete", f"/groups/{scene.group.pk}")


def restrict_to_nobody(scene):
    _sent(scene, "patch", f"/sources/{scene.source.pk}", {"readers": []})


def revoke(scene):
    _sent(scene, "delete", f"/tokens/{scene.token.pk}")


def rotate(scene):
    _sent(scene, "post", f"/tokens/{scene.token.pk}/rotate", {})


def take_token_from_group(scene):
    TokenGroup.objects.filter(token=scene.token).delete()


def let_token_expire(scene):
    ApiToken.objects.filter(pk=scene.token.pk).update(expires_at=timezone.now() - timedelta(seconds=1))


BY_PERSON = [remove_member, deactivate_person, take_from_group, delete_group, restrict_to_nobody]
BY_TOKEN = [revoke, rotate, take_token_from_group, let_token_expire, delete_group, restrict_to_nobody]
_CASES = [("person", each) for each in BY_PERSON] + [("token", each) for each in BY_TOKEN]
_EACH = pytest.mark.parametrize(
    ("who", "remove"), [pytest.param(*c, id=f"{c[0]}-{c[1].__name__}") for c in _CASES]
)


def _client(scene, who):
    return person_client(scene.member) if who == "person" else bearer_client(scene.secret)


@_EACH
def test_nothing_kept_is_answered_any_more(scene, who, remove):
    client = _client(scene, who)
    asked = _what_is_asked(scene, client, who)
    before = {name: ask() for name, ask in asked.items()}
    assert {name for name, answer in before.items() if _WORD not in answer.content.decode()} == set()
    remove(scene)

    for name, ask in asked.items():
        answer = ask()
        assert _WORD not in answer.content.decode(), (name, answer.status_code)
        assert answer.status_code < 500


def _what_is_asked(scene, client, who):
    """Requests whose answers show the restricted source at first, most of them out of something kept."""
    workspace, doc_id = scene.workspace, scene.doc_id
    search, listed = address(workspace, "/search"), address(workspace, "/documents")
    words = {"q": "harbour", "k": 1}
    cursors = {
        mode: client.post(search, {**words, "mode": mode}, format="json").json()["next_cursor"]
        for mode in ("lexical", "hybrid")
    }
    listing = client.get(f"{listed}?limit=1").json()["next_cursor"]
    assert all([*cursors.values(), listing])
    upload = {"path": f"{_WORD}-new.md", "text": "a", "source": "closed"}
    asked = {
        "document": lambda: client.get(address(workspace, f"/documents/{doc_id}")),
        "search": lambda: client.post(search, {**words, "mode": "lexical", "k": 6}, format="json"),
        "vectors": lambda: client.post(search, {**words, "mode": "vector", "k": 6}, format="json"),
        "page of hits": lambda: client.get(f"{search}?cursor={cursors['lexical']}&k=6"),
        "page of fused hits": lambda: client.get(f"{search}?cursor={cursors['hybrid']}&k=6"),
        "page of a list": lambda: client.get(f"{listed}?limit=6&cursor={listing}"),
        "suggestion": lambda: client.get(address(workspace, f"/suggest?q={_WORD[:4]}")),
        "kept answer": lambda: client.post(listed, upload, format="json", headers={"Idempotency-Key": "1"}),
        "job": lambda: client.get(address(workspace, f"/jobs/{scene.job.pk}")),
    }
    if who == "person":
        asked["open session"] = lambda: client.get(f"/w/{workspace.slug}/documents/{doc_id}")
        asked["search page"] = lambda: client.get(f"/w/{workspace.slug}/search?q=harbour&mode=lexical")
    return asked


@_EACH
def test_an_open_stream_ends_without_another_event(scene, who, remove):
    seen = asyncio.run(_watch(scene, who, remove))

    assert len(seen) == 1
    assert _WORD in seen[0].decode()


async def _watch(scene, who, remove):
    """Read the job's stream to its end; after the first event the right ends and the job goes on."""
    headers = {"Authorization": f"Bearer {scene.secret}"} if who == "token" else None
    client = AsyncClient()
    if who == "person":
        await sync_to_async(client.force_login)(scene.member)
    response = await client.get(address(scene.workspace, f"/jobs/{scene.job.pk}/events"), headers=headers)
    assert response.status_code == 200
    seen = []
    async with asyncio.timeout(_PATIENCE_S):
        async for line in response.streaming_content:
            seen.append(line)
            if len(seen) == 1:
                await sync_to_async(_remove_and_go_on)(scene, remove)
    await sync_to_async(_let_go)()
    return seen


def _let_go():
    connection.close()  # the thread outlives the test; its connection must not


def _remove_and_go_on(scene, remove):
    remove(scene)
    Job.objects.filter(pk=scene.job.pk).update(items_done=7, current_path=f"{_WORD}-later.md")


def test_a_deactivated_persons_session_is_over(scene):
    client = person_client(scene.member)
    assert client.get(f"/w/{scene.workspace.slug}/search").status_code == 200
    deactivate_person(scene)

    assert client.get(f"/w/{scene.workspace.slug}/search").status_code == 302
    assert client.get(address(scene.workspace, "/documents")).status_code == 401
    assert django_settings.SESSION_COOKIE_HTTPONLY
