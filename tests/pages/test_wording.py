"""Wording of the most visited pages, in one snapshot.

With KEBAB_WRITE_SNAPSHOTS=1 the test writes `wording.txt` anew.
"""

import os
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.test import Client

from kebab.identity.models import Membership, Role, User, Workspace

SNAPSHOT = Path(__file__).with_name("wording.txt")
_VOID = {"area", "br", "hr", "img", "input", "link", "meta", "wbr", "source", "col"}
_CLASSES = {"empty", "message", "wrong", "alert", "button", "problem"}
_PAGES = {
    "log in": "/login",
    "forgotten password": "/password/reset",
    "home": "/",
    "workspaces": "/workspaces",
    "nothing here": "/w/nowhere/search",
    "search before anything is added": "/w/quay/search",
    "search without hits": "/w/quay/search?q=zzyzx&mode=lexical",
    "search in a mode that there is not": "/w/quay/search?q=x&mode=psychic",
    "ask before anything is added": "/w/quay/ask",
    "answers": "/w/quay/answers",
    "sources": "/w/quay/sources",
    "new source": "/w/quay/sources/new",
    "upload": "/w/quay/upload",
    "activity": "/w/quay/activity",
    "quarantine": "/w/quay/quarantine",
    "people": "/w/quay/people",
    "groups": "/w/quay/groups",
    "tokens": "/w/quay/tokens",
    "settings": "/w/quay/settings",
    "search tuning": "/w/quay/settings/search",
    "embedding": "/w/quay/settings/embedding",
    "retention": "/w/quay/settings/retention",
    "danger zone": "/w/quay/settings/delete",
    "audit": "/w/quay/audit?actor=nobody",
    "bookmarks": "/w/quay/bookmarks",
    "profile": "/profile",
    "insight": "/w/quay/insight",
    "evaluation": "/w/quay/evaluation",
    "feedback": "/w/quay/evaluation/feedback",
    "new run": "/w/quay/evaluation/runs/new",
    "change of the password": "/password/change",
}


class _Texts(HTMLParser):
    """Collects the title, headings, empty states, problems and buttons of a page."""

    def __init__(self) -> None:
        super().__init__()
        self._open: list[tuple[str, list[str] | None]] = []
        self.lines: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            return
        given = dict(attributes)
        classes = set((given.get("class") or "").split())
        is_kept = tag in ("title", "h1", "button") or not classes.isdisjoint(_CLASSES)
        self._open.append((tag, [] if is_kept or given.get("role") == "alert" else None))

    def handle_data(self, data: str) -> None:
        for _, texts in self._open:
            if texts is not None:
                texts.append(data)

    def handle_endtag(self, tag: str) -> None:
        while self._open:
            opened, texts = self._open.pop()
            text = " ".join("".join(texts or ()).split())
            if text and text not in self.lines:
                self.lines.append(text)
            if opened == tag:
                return


def texts_of(name, response):
    page = _Texts()
    page.feed(response.content.decode())
    return "\n".join([f"# {name}", *page.lines])


@pytest.fixture
def owner(db, mirrors):
    user = User.objects.create_superuser("olga@quay.example", "seven knots at dusk")
    for slug in ("quay", "quay-annex"):
        workspace = Workspace.objects.create(slug=slug, name=slug.title())
        Membership.objects.create(workspace=workspace, user=user, role=Role.OWNER)
    return user


def test_wording_of_the_pages(owner):
    outside, inside = Client(), Client()
    inside.force_login(owner)
    pages = {
        name: (outside if name in ("log in", "forgotten password") else inside).get(path)
        for name, path in _PAGES.items()
    }
    wrong = {"username": owner.email, "password": "wrong wrong"}
    pages["failed login"] = outside.post("/login", wrong)
    pages["form out of date"] = Client(enforce_csrf_checks=True).post("/login", wrong)
    weak = {"old_password": "x", "new_password1": "short", "new_password2": "short"}
    pages["weak password"] = inside.post("/password/change", weak)
    pages["question that can't be asked"] = inside.post("/w/quay/ask", {"question": ""})
    pages["refusal of a question"] = inside.post("/w/quay/ask", {"question": "Is it high tide?"}, follow=True)
    pages["changed setting"] = inside.post("/w/quay/settings/search", {"rrf_k": "25"}, follow=True)
    texts = "\n\n".join(texts_of(name, response) for name, response in pages.items()) + "\n"
    if os.environ.get("KEBAB_WRITE_SNAPSHOTS") == "1":
        SNAPSHOT.write_text(texts)

    assert texts == SNAPSHOT.read_text()
