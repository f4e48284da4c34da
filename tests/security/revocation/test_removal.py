"""The end of a right holds from the next request on, also for stored answers and open streams."""

import asyncio
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings as django_settings
from django.test import AsyncClient
from django.utils import timezone

from ingest.api.jobs import views
from ingest.models import Job, JobItem
from kebab.identity.models import (
    ApiToken,
    Group,
    GroupMember,
    Membership,
    Role,
    TokenGroup,
    TokenScope,
    User,
    Workspace,
)
from kebab.identity.tokens import mint_token
from search.corpus import replace_document
from search.corpus.blobs import store_blob
from search.libraries.source_stats import refresh_source_stats
from search.mirror import local_mirrors
from search.mirror.sync.sync import sync_mirror
from search.models import Chunk, Document, Source
from tests.security.rights.vault import add
from tests.support.actors import bearer_client, make_member, make_workspace, person_client
from tests.support.api import address, embed, quarantine
from tests.support.corpus import chunk, draft, make_place, restrict
from tests.support.loops import run
from tests.support.samples import content_of

pytestmark = pytest.mark.django_db(transaction=True)
_PATIENCE_S = 20
_WORD = "velmoor"


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A restricted source, its reader, and an owner who may end that right."""

    workspace: Workspace
    source: Source
    group: Group
    #: Another group with the right to read it, without members.
    others: Group
    doc_id: str
    chunk_id: str
    picture_id: str
    job: Job
    owner: Any
    #: The editor is in the group, the admin reads everything, the viewer reads open sources.
    people: Mapping[Role, User]
    token: ApiToken
    secret: str

    @property
    def member(self) -> User:
        """Return the member of the group."""
        return self.people[Role.EDITOR]


@pytest.fixture(autouse=True)
def _files(blobs, mirrors, monkeypatch):
    monkeypatch.setattr(views, "_POLL_S", 0.005)


@pytest.fixture
def scene(transactional_db):
    workspace = make_workspace()
    source, picture = _write(workspace)
    crew, others = (Group.objects.create(workspace=workspace, name=name) for name in ("crew", "others"))
    restrict(source, crew, others)
    embed(workspace)
    refresh_source_stats(workspace.pk, source.pk, state="indexed", last_indexed_at=timezone.now())
    workspace.refresh_from_db()
    sync_mirror(local_mirrors.mirror_files(workspace.pk), workspace.pk)
    people = {role: make_member(workspace, role) for role in (Role.VIEWER, Role.EDITOR, Role.ADMIN)}
    membership = Membership.objects.get(user=people[Role.EDITOR])
    GroupMember.objects.create(workspace=workspace, group=crew, membership=membership)
    token, secret = mint_token(workspace, scopes=TokenScope, groups=[crew])
    job = Job.objects.create(workspace=workspace, kind="sync_source", source=source, current_path=_WORD)
    JobItem.objects.create(workspace=workspace, job=job, path=f"{_WORD}.md", action="ingest", state="pending")
    quarantine(workspace, source.versions.first(), f"{_WORD}-bomb.md")
    chunk_of_it = Chunk.objects.in_workspace(workspace).filter(text__contains=_WORD).first()
    return Scene(
        workspace=workspace,
        source=source,
        group=crew,
        others=others,
        doc_id=chunk_of_it.document.doc_id.hex,
        chunk_id=chunk_of_it.chunk_id.hex,
        picture_id=picture.doc_id.hex,
        job=job,
        owner=person_client(make_member(workspace, Role.OWNER)),
        people=people,
        token=token,
        secret=secret,
    )


def _write(workspace):
    """Write open documents and the source's documents; return the source and a picture in it."""
    for number in range(3):
        add(workspace, "open", f"open{number}.md", chunk(f"Open text number {number} of the harbour."))
        add(workspace, "closed", f"{_WORD}{number}.md", chunk(f"The {_WORD} of the harbour, {number}."))
    content = content_of("image/notice.png")
    hash_ = store_blob(workspace.pk, content)
    created = draft(
        chunk("notice"), content_hash=hash_, size_bytes=len(content), media="image", mime="image/png"
    )
    place = make_place(workspace, f"{_WORD}.png", source="closed")
    replace_document(place, created)
    Source.objects.filter(pk=place.source.pk).update(title=f"Harbour {_WORD}")
    place.source.refresh_from_db()
    return place.source, Document.objects.in_workspace(workspace).get(doc_id=place.doc_id)


def _send(scene: Scene, method: str, tail: str, body: Any = None) -> None:
    answer = getattr(scene.owner, method)(address(scene.workspace, tail), body, format="json")
    assert answer.status_code < 300, answer.content


def remove_member(scene):
    _send(scene, "delete", f"/members/{scene.member.pk}")


def deactivate_person(scene):
    User.objects.filter(pk=scene.member.pk).update(is_active=False)


def take_from_group(scene):
    _send(scene, "delete", f"/groups/{scene.group.pk}/members/{scene.member.pk}")


def delete_group(scene):
    _send(scene, "delete", f"/groups/{scene.group.pk}")


def transfer_to_other_group(scene):
    _send(scene, "patch", f"/sources/{scene.source.pk}", {"readers": [str(scene.others.pk)]})


def demote(scene):
    _send(scene, "patch", f"/members/{scene.people[Role.ADMIN].pk}", {"role": "viewer"})


def delete_workspace(scene):
    _send(scene, "delete", "")


def restrict_to_nobody(scene):
    _send(scene, "patch", f"/sources/{scene.source.pk}", {"readers": []})


def revoke(scene):
    _send(scene, "delete", f"/tokens/{scene.token.pk}")


def rotate(scene):
    _send(scene, "post", f"/tokens/{scene.token.pk}/rotate", {})


def take_token_from_group(scene):
    TokenGroup.objects.filter(token=scene.token).delete()


def expire_token(scene):
    ApiToken.objects.filter(pk=scene.token.pk).update(expires_at=timezone.now() - timedelta(seconds=1))


_OF_BOTH = [delete_group, transfer_to_other_group, restrict_to_nobody, delete_workspace]
_CASES = {
    "member": [remove_member, deactivate_person, take_from_group, *_OF_BOTH],
    "token": [revoke, rotate, take_token_from_group, expire_token, *_OF_BOTH],
    "admin": [demote],
    "anybody": [restrict_to_nobody],
}
_SLOW = pytest.mark.slow
# The default tests cover these cases with a member, or with another removal from the group.
_ALIKE = {("token", each) for each in _OF_BOTH} | {
    ("member", deactivate_person),
    ("member", transfer_to_other_group),
}
_EACH = pytest.mark.parametrize(
    ("who", "remove"),
    [
        pytest.param(who, each, id=f"{who}-{each.__name__}", marks=_SLOW if (who, each) in _ALIKE else ())
        for who in _CASES
        for each in _CASES[who]
    ],
)
_ROLES = {"member": Role.EDITOR, "admin": Role.ADMIN, "anybody": Role.VIEWER}


def _person(scene, who):
    """Return the person whose right is to end; None: the token's. For anybody, open the source first."""
    if who == "anybody":
        _send(scene, "patch", f"/sources/{scene.source.pk}", {"readers": None})
    return scene.people[_ROLES[who]] if who in _ROLES else None


def _client(scene, who):
    person = _person(scene, who)
    return bearer_client(scene.secret) if person is None else person_client(person)


@_EACH
def test_stored_results_are_not_returned_after_the_end_of_a_right(scene, who, remove):
    client = _client(scene, who)
    requests = {**_stored_answers(scene, client), **_read(scene, client), **_pages(scene, client, who)}
    if who != "anybody":  # a viewer uploads nothing
        requests["kept answer"] = _upload(scene, client)
    plain = _without_words(scene, client, who)
    before = {name: ask() for name, ask in requests.items()}
    assert {name for name, answer in before.items() if _WORD not in _contents(answer)} == set()
    assert {name: ask().status_code for name, (ask, _) in plain.items()} == {
        name: status for name, (_, status) in plain.items()
    }
    remove(scene)

    for name, ask in requests.items():
        answer = ask()
        assert _WORD not in _contents(answer), (name, answer.status_code)
        assert answer.status_code < 500
    for name, (ask, _) in plain.items():
        assert ask().status_code in (302, 401, 404), name


def _contents(answer):
    with closing(answer):
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return content.decode() + str(answer.headers)


def _stored_answers(scene, client):
    """Return requests whose answers show the restricted source at first, from stored results."""
    search, listed = address(scene.workspace, "/search"), address(scene.workspace, "/documents")
    words = {"q": "harbour", "k": 1}
    cursors = {
        mode: client.post(search, {**words, "mode": mode}, format="json").json()["next_cursor"]
        for mode in ("lexical", "hybrid")
    }
    listing = client.get(f"{listed}?limit=1").json()["next_cursor"]
    assert all([*cursors.values(), listing])
    question = {"question": f"What of the {_WORD} of the harbour?"}
    answered = client.post(address(scene.workspace, "/ask"), question, format="json").json()
    answer = address(scene.workspace, f"/answers/{answered['answer_id']}")
    return {
        "search": lambda: client.post(search, {**words, "mode": "lexical", "k": 6}, format="json"),
        "vectors": lambda: client.post(search, {**words, "mode": "vector", "k": 6}, format="json"),
        "page of hits": lambda: client.get(f"{search}?cursor={cursors['lexical']}&k=6"),
        "page of fused hits": lambda: client.get(f"{search}?cursor={cursors['hybrid']}&k=6"),
        "answer": lambda: client.get(answer),
        "check of an answer": lambda: client.get(f"{answer}/check"),
        "list of answers": lambda: client.get(address(scene.workspace, "/answers")),
        "page of a list": lambda: client.get(f"{listed}?limit=9&cursor={listing}"),
    }


def _upload(scene, client):
    body = {"path": f"{_WORD}-new.md", "text": "a", "source": "closed"}
    listed = address(scene.workspace, "/documents")
    return lambda: client.post(listed, body, format="json", headers={"Idempotency-Key": "1"})


def _read(scene, client):
    """Return requests that read the source directly."""
    library, job = scene.source.library_id, f"/jobs/{scene.job.pk}"
    tails = [
        f"/documents/{scene.doc_id}",
        f"/documents/{scene.doc_id}/content",
        f"/documents/{scene.doc_id}/chunks",
        f"/chunks/{scene.chunk_id}",
        f"/suggest?q={_WORD[:4]}",
        "/libs/search?libraryName=harbour&query=harbour",
        f"/libs/snippets?libraryId={library}&query=harbour",
        f"/context?libraryId={library}&query=harbour",
        "/quarantine",
        job,
        f"{job}/items",
    ]
    bodies = {
        "/context-pack": {"information_request": "text of the harbour"},
        "/search/bulk": {"queries": [{"q": "harbour"}]},
        "/ask": {"question": "Which text of the harbour is there?"},
    }
    gets = {tail: partial(client.get, address(scene.workspace, tail)) for tail in tails}
    return gets | {
        tail: partial(client.post, address(scene.workspace, tail), body, format="json")
        for tail, body in bodies.items()
    }


def _pages(scene, client, who):
    if who == "token":
        return {}
    at = f"/w/{scene.workspace.slug}"
    return {
        "open session": lambda: client.get(f"{at}/documents/{scene.doc_id}"),
        "search page": lambda: client.get(f"{at}/search?q=harbour&mode=lexical"),
    }


def _without_words(scene, client, who):
    """Return requests whose answers omit the source's words, with their statuses while it may be read."""
    content = address(scene.workspace, f"/documents/{scene.doc_id}/content")
    with closing(client.get(content)) as answer:
        headers = {"If-None-Match": answer["ETag"]}
    requests = {"what a browser keeps": (lambda: client.get(content, headers=headers), 304)}
    if who != "token":
        picture = f"/w/{scene.workspace.slug}/documents/{scene.picture_id}/picture"
        requests["picture"] = (lambda: client.get(picture), 200)
    return requests


@_EACH
def test_open_stream_ends_without_another_event(scene, who, remove):
    seen = run(_watch(scene, who, remove))

    assert len(seen) == 1
    assert _WORD in seen[0].decode()


async def _watch(scene, who, remove):
    """Read the job's stream to its end; after the first event end the right and let the job proceed."""
    person = await sync_to_async(_person)(scene, who)
    headers = {"Authorization": f"Bearer {scene.secret}"} if person is None else None
    client = AsyncClient()
    if person is not None:
        await sync_to_async(client.force_login)(person)
    response = await client.get(address(scene.workspace, f"/jobs/{scene.job.pk}/events"), headers=headers)
    assert response.status_code == 200
    seen = []
    async with asyncio.timeout(_PATIENCE_S):
        async for line in response.streaming_content:
            seen.append(line)
            if len(seen) == 1:
                await sync_to_async(_remove_and_proceed)(scene, remove)
    return seen


def _remove_and_proceed(scene, remove):
    remove(scene)
    Job.objects.filter(pk=scene.job.pk).update(items_done=7, current_path=f"{_WORD}-later.md")


def test_session_of_a_deactivated_person_ends(scene):
    client = person_client(scene.member)
    assert client.get(f"/w/{scene.workspace.slug}/search").status_code == 200
    deactivate_person(scene)

    assert client.get(f"/w/{scene.workspace.slug}/search").status_code == 302
    assert client.get(address(scene.workspace, "/documents")).status_code == 401
    assert django_settings.SESSION_COOKIE_HTTPONLY
