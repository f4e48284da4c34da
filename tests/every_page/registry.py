"""The registry: who opens which page with what in its address, and what must be seen there.

A page that is missing here fails `test_every_page_is_registered`. One line is enough for most:
`RegisteredPage(route="jobs", shows="table.list")`. Arguments of the address are ids of the ground by their
own names, and who opens it is whoever may by the view's own need and no more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from django.urls import get_resolver

from kebab.pages.page import WorkspacePage
from kebab.people.models import Role
from tests.every_page.ground import Ground
from tests.leaks.routes import Route, routes

#: Addresses that a GET reaches and that are no pages to look at, with what they are.
NO_PAGES = {
    "healthz": "a probe",
    "readyz": "a probe",
    "metrics": "counts by route",
    "version": "versions of the software",
    "favicon.ico": "the way to the icon",
    "oidc": "the way to the identity provider",
    "openid_connect_callback": "the way back from it",
    "password-reset-link": "the way to its form",
    "invitation-link": "the way to its page",
    "document-sheet": "a picture",
    "document-picture": "a picture",
    "search-filters": "a part of the search page",
}
#: The pages that give what they are for without JavaScript, too.
CORE = frozenset({"home", "login", "search", "document", "sources", "source", "upload"})
#: Parts of the URL table that have proofs of their own.
_ELSEWHERE = ("admin/", "api/")


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredPage:
    """One way to open a page."""

    route: str
    #: What tells it from the other ways to open its route.
    variant: str = ""
    #: A CSS selector of what must be visible.
    shows: str = "main h1"
    query: str = ""
    #: Arguments of the address that are other ids of the ground than their names say.
    arguments: Mapping[str, str] = field(default_factory=dict)
    #: The id of the ground that is the address which leads there, where the route's own is not enough.
    link: str = ""
    #: Whether nobody is logged in.
    is_public: bool = False
    status: int = 200
    #: Whether what it shows is that one person's, so that other members are promised nothing.
    is_personal: bool = False

    @property
    def label(self) -> str:
        """What a failure names, and a screenshot is called."""
        return f"{self.route}-{self.variant}" if self.variant else self.route

    @property
    def need(self) -> Role:
        """The least role that may open it, as the view says; a page of no workspace is anybody's."""
        return least_role(self.route)

    @property
    def is_core(self) -> bool:
        """Whether it works without JavaScript, too."""
        return self.route in CORE

    def address(self, ground: Ground) -> str:
        """Give where it lies, filled in."""
        if self.link:
            return ground.ids[self.link]
        route = page_routes()[self.route]
        names = {name: ground.ids[self.arguments.get(name, name)] for name in route.arguments}
        query = self.query.format_map(ground.ids)
        return route.path(names) + (f"?{query}" if query else "")


@cache
def page_routes() -> dict[str, Route]:
    """Give the routes that a GET reaches and that aren't proven elsewhere, by name."""
    found = [route for route in routes() if "get" in route.methods]
    return {route.name: route for route in found if not route.pattern.startswith(_ELSEWHERE)}


@cache
def least_role(route: str) -> Role:
    """Give the least role that the view of a route lets in."""
    view = _view_of(page_routes()[route])
    if isinstance(view, type) and issubclass(view, WorkspacePage):
        return Role(view.need.role)
    return Role.VIEWER


def _view_of(route: Route) -> object:
    """Find the class of a route's view by its name: addresses alone would need arguments that fit."""
    for pattern in _patterns(get_resolver("kebab.urls").url_patterns):
        if pattern.name == route.name:
            return getattr(pattern.callback, "view_class", None)
    return None


def _patterns(patterns):
    for pattern in patterns:
        yield from _patterns(pattern.url_patterns) if hasattr(pattern, "url_patterns") else (pattern,)


_ACCOUNTS: Sequence[RegisteredPage] = (
    RegisteredPage(route="login", shows="form [name=username]", is_public=True),
    RegisteredPage(route="password-reset", shows="form [name=email]", is_public=True),
    RegisteredPage(route="password-reset-asked", is_public=True),
    RegisteredPage(
        route="password-reset-form", link="reset_link", shows="[name=new_password1]", is_public=True
    ),
    RegisteredPage(route="password-reset-form", variant="gone", is_public=True, status=404),
    RegisteredPage(route="password-change", shows="[name=old_password]"),
    RegisteredPage(route="invitation", link="invitation_link", shows="[name=display_name]", is_public=True),
    RegisteredPage(route="invitation", variant="of-somebody-else", link="invitation_link", shows=".message"),
    RegisteredPage(route="invitation", variant="gone", is_public=True, status=404),
)

_SEARCHING: Sequence[RegisteredPage] = (
    RegisteredPage(route="home", shows=".workspace-card a"),
    RegisteredPage(route="search", shows="input[name=q]"),
    RegisteredPage(route="search", variant="hits", query="q=springs+and+ropes", shows=".hits article"),
    RegisteredPage(route="search", variant="no-hits", query="q=zzyzx&mode=lexical", shows=".empty"),
    RegisteredPage(route="search", variant="refused", query="q=x&mode=psychic", shows="#problem", status=400),
    RegisteredPage(route="search", variant="empty", arguments={"slug": "empty_slug"}, shows=".empty"),
    RegisteredPage(route="search", variant="missing", arguments={"slug": "no_slug"}, status=404),
    RegisteredPage(
        route="search", variant="hits-from-right-to-left", query="q=%D7%94%D7%A8%D7%A6%D7%99%D7%A3"
    ),
    RegisteredPage(route="document", query="start=18&end=19&q=ropes", shows=".cited"),
    RegisteredPage(route="document-chunks"),
    RegisteredPage(route="search-more", query="q=the&cursor="),
    RegisteredPage(route="document", variant="code", arguments={"doc_id": "code"}, shows="article"),
    RegisteredPage(
        route="document", variant="pdf", arguments={"doc_id": "pdf"}, query="from=2", shows=".sheet"
    ),
    RegisteredPage(route="document", variant="picture", arguments={"doc_id": "picture"}, shows="figure img"),
    RegisteredPage(route="document", variant="transcript", arguments={"doc_id": "transcript"}, shows="time"),
    RegisteredPage(route="document", variant="office", arguments={"doc_id": "office"}, shows="article"),
    RegisteredPage(route="document", variant="mail", arguments={"doc_id": "mail"}, shows="article"),
    RegisteredPage(route="document", variant="hostile", arguments={"doc_id": "hostile"}, shows="article"),
)

_SOURCES: Sequence[RegisteredPage] = (
    RegisteredPage(route="sources"),
    RegisteredPage(route="new-source"),
    RegisteredPage(route="new-source", variant="folder", query="kind=folder"),
    RegisteredPage(route="new-source", variant="git", query="kind=git"),
    RegisteredPage(route="new-source", variant="web", query="kind=web"),
    RegisteredPage(route="source"),
    RegisteredPage(route="source", variant="git", arguments={"source_id": "git"}),
    RegisteredPage(route="source-edit"),
    RegisteredPage(route="upload"),
    RegisteredPage(route="jobs"),
    RegisteredPage(route="job"),
    RegisteredPage(route="job", variant="failed", arguments={"job_id": "failed"}),
    RegisteredPage(route="job", variant="running", arguments={"job_id": "running"}),
    RegisteredPage(route="quarantine"),
)

_PEOPLE: Sequence[RegisteredPage] = (
    RegisteredPage(route="workspaces"),
    RegisteredPage(route="people"),
    RegisteredPage(route="person"),
    RegisteredPage(route="person-access"),
    RegisteredPage(route="groups"),
    RegisteredPage(route="group"),
    RegisteredPage(route="tokens"),
    RegisteredPage(route="token"),
    RegisteredPage(route="token-access"),
    RegisteredPage(route="settings"),
    RegisteredPage(route="audit"),
)

_ASKING: Sequence[RegisteredPage] = (
    RegisteredPage(route="ask"),
    RegisteredPage(route="answer", is_personal=True),
    RegisteredPage(route="answer-citation", is_personal=True),
    RegisteredPage(route="answer-check", is_personal=True),
    RegisteredPage(route="answers"),
    RegisteredPage(route="conversation", is_personal=True),
)

_INSIGHT: Sequence[RegisteredPage] = (
    RegisteredPage(route="insight"),
    RegisteredPage(route="evaluation"),
    RegisteredPage(route="evaluation-topic-new"),
    RegisteredPage(route="evaluation-feedback"),
    RegisteredPage(route="evaluation-run-new"),
    RegisteredPage(route="evaluation-run"),
)

_PARTS = (_ACCOUNTS, _SEARCHING, _SOURCES, _PEOPLE, _ASKING, _INSIGHT)
#: All of them, in the order in which they are shown.
PAGES: Sequence[RegisteredPage] = tuple(entry for part in _PARTS for entry in part)
