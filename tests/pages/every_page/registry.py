"""The registry of pages: role, address, and the content that must be visible.

A page that is missing here fails `test_pages_and_acts_are_registered_once`. One line is enough for most:
`RegisteredPage(route="sources", shows="table.list")`. Arguments of the address are ids of the ground by their
own names, and who opens it is the least role that may, which stands here and not only in the view: a page
that lets in more people than before fails.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from kebab.identity.models import Role
from tests.pages.every_page.ground import Ground
from tests.security.leaks.routes import Route, routes

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
    "styles": "components, in debug mode",
    "search-answer": "a part of the search page",
    "jobs": "the way to activity",
    "job": "the way to an act",
    "audit-csv": "a file",
    "opensearch": "a description for browsers",
    "feed": "a feed for programs",
    "oauth-resource": "a description for clients",
    "oauth-resource-mcp": "a description for clients",
    "oauth-server": "a description for clients",
}
#: The pages that give what they are for without JavaScript, too.
CORE = frozenset({"home", "login", "search", "document", "sources", "source", "upload"})
#: The least role that may do what is asked of an address below a workspace by POST.
ACTS = {
    **dict.fromkeys(
        (
            *("search-vote", "bookmark", "ask", "answer-delete"),
            *("saved-searches", "saved-search", "saved-search-deletion", "saved-search-feed"),
        ),
        Role.VIEWER,
    ),
    **dict.fromkeys(
        (
            *("new-source", "source-edit", "source-sync", "source-test", "source-delete", "version-delete"),
            *("upload", "source-documents-delete"),
            *("act-cancel", "act-retry", "act-dismiss", "quarantine-retry", "quarantine-delete"),
            "document-mark",
        ),
        Role.EDITOR,
    ),
    **dict.fromkeys(
        (
            *("people", "person", "person-groups", "invitation-withdrawal", "invitation-again"),
            "person-removal",  # lesser roles may remove nobody but themselves
            *("groups", "group", "group-deletion", "group-addition", "group-removal"),
            *("tokens", "token", "token-revocation"),
            *("settings", "settings-search", "settings-embedding", "settings-retention"),
            *("rules", "rule-switch", "rule-deletion", "query-review"),
            *("webhooks", "webhook-switch", "webhook-test", "webhook-deletion"),
            *("evaluation-topic-new", "evaluation-topic-delete", "evaluation-feedback"),
            *("evaluation-run-new", "evaluation-run-repeat", "evaluation-run-delete"),
        ),
        Role.ADMIN,
    ),
    "workspace-deletion": Role.OWNER,
}
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
    #: The least role that may open it; a page of no workspace is anybody's.
    need: Role = Role.VIEWER
    #: Who opens it, where it shows others more, or nothing.
    as_role: Role | None = None
    #: What is clicked before it is looked at; `status` is that of the page which is there then.
    opens: str = ""
    #: Whether what it shows is that one person's, so that other members are promised nothing.
    is_personal: bool = False

    @property
    def label(self) -> str:
        """Return the name for failures and screenshots."""
        return f"{self.route}-{self.variant}" if self.variant else self.route

    @property
    def opener(self) -> Role:
        """Return the role that opens it."""
        return self.need if self.as_role is None else self.as_role

    @property
    def is_core(self) -> bool:
        """Return whether the page works without JavaScript, too."""
        return self.route in CORE

    def address(self, ground: Ground) -> str:
        """Return the page's address, filled in."""
        if self.link:
            return ground.ids[self.link]
        route = page_routes()[self.route]
        names = {name: ground.ids[self.arguments.get(name, name)] for name in route.arguments}
        query = self.query.format_map(ground.ids)
        return route.path(names) + (f"?{query}" if query else "")


@cache
def page_routes() -> dict[str, Route]:
    """Return the routes that a GET reaches and that no other test covers, by name."""
    found = [route for route in routes() if "get" in route.methods]
    return {route.name: route for route in found if not route.pattern.startswith(_ELSEWHERE)}


def _needing(role: Role, *entries: RegisteredPage) -> Sequence[RegisteredPage]:
    return tuple(replace(entry, need=role) for entry in entries)


_ACCOUNTS: Sequence[RegisteredPage] = (
    RegisteredPage(route="login", shows="form [name=username]", is_public=True),
    RegisteredPage(route="password-reset", shows="form [name=email]", is_public=True),
    RegisteredPage(route="password-reset-asked", is_public=True),
    RegisteredPage(
        route="password-reset-form", link="reset_link", shows="[name=new_password1]", is_public=True
    ),
    RegisteredPage(route="password-reset-form", variant="gone", is_public=True, status=404),
    RegisteredPage(route="password-change", shows="[name=old_password]"),
    RegisteredPage(route="profile", shows="[name=time_zone]"),
    RegisteredPage(route="oauth-authorization", link="consent", shows="[name=workspaces]"),
    RegisteredPage(route="oauth-authorization", variant="refused", status=400),
    RegisteredPage(route="invitation", link="invitation_link", shows="[name=display_name]", is_public=True),
    RegisteredPage(route="invitation", variant="of-somebody-else", link="invitation_link", shows=".message"),
    RegisteredPage(route="invitation", variant="gone", is_public=True, status=404),
)

_SEARCHING: Sequence[RegisteredPage] = (
    RegisteredPage(route="home", shows=".workspace-card a"),
    RegisteredPage(route="everywhere", shows="input[name=q]"),
    RegisteredPage(route="everywhere", variant="hits", query="q=springs", shows=".results article"),
    RegisteredPage(route="search", shows="input[name=q]"),
    RegisteredPage(
        route="search", variant="help", opens="[popovertarget=keyboard-help]:visible", shows="#keyboard-help"
    ),
    RegisteredPage(route="search", variant="hits", query="q=springs+and+ropes", shows=".results article"),
    RegisteredPage(
        route="search",
        variant="why",
        query="q=springs",
        opens=".result-menu summary:visible",
        shows=".result-menu[open] .result-acts, .result-acts [open] .why",
    ),
    RegisteredPage(
        route="search", variant="as-owner", query="q=springs", as_role=Role.OWNER, shows=".results article"
    ),
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
    *(
        RegisteredPage(route="document", variant=kind, arguments={"doc_id": kind}, shows=".rendered")
        for kind in ("office", "mail", "web_page", "rst", "notebook", "table", "wiki", "sheet")
    ),
    RegisteredPage(
        route="document", variant="source", arguments={"doc_id": "rst"}, query="view=source", shows=".lines"
    ),
    RegisteredPage(route="document", variant="hostile", arguments={"doc_id": "hostile"}, shows="article"),
)

_LISTED = ".wide table.list tbody a"
_SOURCES: Sequence[RegisteredPage] = (
    RegisteredPage(route="sources", shows=_LISTED),
    RegisteredPage(route="sources", variant="as-owner", as_role=Role.OWNER, shows=".acts .button"),
    RegisteredPage(route="source", shows=_LISTED),
    RegisteredPage(route="source", variant="git", arguments={"source_id": "git"}, shows="dl.facts-table"),
    RegisteredPage(route="source", variant="filtered", query="q=a&order=date&path=", shows="#filter"),
    RegisteredPage(
        route="source", variant="as-owner", as_role=Role.OWNER, opens=".asked summary", shows=".asked .danger"
    ),
    RegisteredPage(route="activity", shows=".activity a"),
    RegisteredPage(route="activity", variant="attention", query="show=attention", shows=".activity a"),
    RegisteredPage(route="act", shows="dl"),
    RegisteredPage(route="act", variant="failed", arguments={"job_id": "failed"}, shows=".state.bad"),
    RegisteredPage(
        route="act",
        variant="failed-as-owner",
        arguments={"job_id": "failed"},
        as_role=Role.OWNER,
        shows=".acts button",
    ),
    RegisteredPage(route="act", variant="running", arguments={"job_id": "running"}, shows="progress"),
    RegisteredPage(route="quarantine"),
    RegisteredPage(route="quarantine", variant="as-owner", as_role=Role.OWNER, shows="td .acts button"),
    *_needing(
        Role.EDITOR,
        RegisteredPage(route="new-source"),
        RegisteredPage(route="new-source", variant="folder", query="kind=folder"),
        RegisteredPage(route="new-source", variant="git", query="kind=git"),
        RegisteredPage(route="new-source", variant="web", query="kind=web"),
        *(
            RegisteredPage(route="new-source", variant=kind, query=f"kind={kind}")
            for kind in ("s3", "webdav", "feed", "imap", "mediawiki", "github", "gitlab")
        ),
        RegisteredPage(route="source-edit"),
        RegisteredPage(route="upload", shows="form.upload [type=file]"),
    ),
)

_PEOPLE: Sequence[RegisteredPage] = (
    RegisteredPage(route="workspaces", as_role=Role.OWNER),
    RegisteredPage(route="workspaces", variant="new", opens=".asked summary", shows=".sheet [name=slug]"),
    RegisteredPage(route="settings", variant="forbidden", as_role=Role.VIEWER, status=403),
    *_needing(Role.OWNER, RegisteredPage(route="workspace-deletion", shows="#id_slug")),
    *_needing(
        Role.ADMIN,
        RegisteredPage(route="people"),
        RegisteredPage(route="people", variant="invite", opens=".asked summary", shows=".sheet [name=email]"),
        RegisteredPage(route="groups", variant="new", opens=".asked summary", shows=".sheet [name=name]"),
        RegisteredPage(route="tokens", variant="new", opens=".asked summary", shows=".sheet [name=name]"),
        RegisteredPage(route="person"),
        RegisteredPage(route="person-access"),
        RegisteredPage(route="groups"),
        RegisteredPage(route="group"),
        RegisteredPage(route="tokens"),
        RegisteredPage(route="token"),
        RegisteredPage(route="token-access"),
        RegisteredPage(route="settings"),
        RegisteredPage(route="settings-search", shows="[name=rrf_k]"),
        RegisteredPage(route="settings-embedding", shows="[name=embedder]"),
        RegisteredPage(route="rules", shows=".list .acts"),
        RegisteredPage(route="rules", variant="new", opens=".asked summary", shows=".sheet [name=words]"),
        RegisteredPage(route="settings-retention", shows="[name=answers_kept_days]"),
        RegisteredPage(route="webhooks"),
        RegisteredPage(route="webhooks", variant="new", opens=".asked summary", shows=".sheet [name=url]"),
        RegisteredPage(route="webhook", shows="table.list"),
        RegisteredPage(route="audit"),
    ),
)

_ASKING: Sequence[RegisteredPage] = (
    RegisteredPage(route="ask"),
    RegisteredPage(route="bookmarks"),
    RegisteredPage(route="saved-searches"),
    RegisteredPage(route="saved-searches", variant="new", query="q=berth", shows="form [name=notify]"),
    RegisteredPage(route="answers"),
    RegisteredPage(route="answers", variant="as-owner", as_role=Role.OWNER),
    RegisteredPage(route="answer", is_personal=True),
    RegisteredPage(
        route="answer", variant="passage", opens=".marker", shows=".beside .here", is_personal=True
    ),
    RegisteredPage(
        route="answer",
        variant="checked",
        opens=".sources-head a",
        shows=".sources .check .state",
        is_personal=True,
    ),
    RegisteredPage(
        route="answer", variant="asked", opens=".asked summary", shows=".asked .danger", is_personal=True
    ),
    RegisteredPage(route="answer-citation", is_personal=True),
    RegisteredPage(route="answer-check", is_personal=True),
    RegisteredPage(route="conversation", is_personal=True),
)

_INSIGHT: Sequence[RegisteredPage] = _needing(
    Role.ADMIN,
    RegisteredPage(route="insight", shows="svg.plot"),
    RegisteredPage(route="insight", variant="table", opens=".plotted summary", shows=".plotted table"),
    RegisteredPage(route="insight", variant="empty", arguments={"slug": "empty_slug"}, shows=".empty a"),
    RegisteredPage(route="evaluation", shows=_LISTED),
    RegisteredPage(route="evaluation-topic-new"),
    RegisteredPage(
        route="evaluation-topic-new",
        variant="refused",
        opens="main form button[type=submit]",
        shows="[aria-invalid=true]",
        status=400,
    ),
    RegisteredPage(route="evaluation-feedback", shows="table.list form"),
    RegisteredPage(route="evaluation-run-new"),
    RegisteredPage(route="evaluation-run"),
    RegisteredPage(
        route="evaluation-run", variant="compared", query="baseline={baseline}", shows=".differences"
    ),
    RegisteredPage(
        route="evaluation-run", variant="unfinished", arguments={"run_id": "unfinished"}, shows="[data-run]"
    ),
)

_PARTS = (_ACCOUNTS, _SEARCHING, _SOURCES, _PEOPLE, _ASKING, _INSIGHT)
#: All of them, in the order in which they are shown.
PAGES: Sequence[RegisteredPage] = tuple(entry for part in _PARTS for entry in part)
