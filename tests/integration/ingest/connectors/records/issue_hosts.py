"""Servers with the REST APIs of GitHub and GitLab, for issues with comments."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from tests.integration.ingest.connectors.records.web_host import JsonHost, format_time

TOKEN = "t0ken"


@dataclass(kw_only=True)
class StubIssue:
    """An issue; its text is its only comment, or its body if it has none."""

    number: int
    title: str
    created_at: datetime
    updated_at: datetime
    body: str = ""
    comments: list[str] = field(default_factory=list)
    #: Fields that differ from those of other issues.
    more: dict[str, Any] = field(default_factory=dict)


class IssueHost(JsonHost):
    """A server of issues by name."""

    #: The query's parameter of the least time of change.
    since: str

    def __init__(self) -> None:
        super().__init__(lambda environ: environ["PATH_INFO"].rpartition("/")[2].isdecimal())
        #: Whether it lists what changed at the least time itself.
        self.includes_since = True
        self.issues: dict[str, StubIssue] = {}

    def put(self, name: str, text: str) -> None:
        """Open an issue with a comment, or change its comment."""
        at = self.tick()
        number = len(self.issues) + 1
        issue = self.issues.setdefault(
            name, StubIssue(number=number, title=name, created_at=at, updated_at=at)
        )
        issue.comments, issue.updated_at = [text], at

    def put_directly(self, name: str, text: str) -> None:
        """Open an issue without a comment; many are opened in the same second."""
        at = self.now if len(self.issues) % 400 else self.tick()
        number = len(self.issues) + 1
        self.issues[name] = StubIssue(number=number, title=name, created_at=at, updated_at=at, body=text)

    def delete(self, name: str) -> None:
        """Delete an issue, which no listing mentions."""
        self.issues[name].more["is_deleted"] = True

    def path(self, name: str) -> str:
        """Return the path of the issue's document."""
        return f"issues/{self.issues[name].number}.md"

    def page(self, query: Mapping[str, str]) -> tuple[list[StubIssue], bool]:
        """Return a page of the issues by time of change, and whether another follows."""
        since = query.get(self.since, "")
        dated = [(format_time(each.updated_at), each) for each in self._present]
        listed = [each for at, each in dated if at > since or (at == since and self.includes_since)]
        listed.sort(key=lambda each: (each.updated_at, each.number))
        start = (int(query["page"]) - 1) * int(query["per_page"])
        end = start + int(query["per_page"])
        return listed[start:end], end < len(listed)

    def find(self, number: str) -> StubIssue | None:
        """Return the issue with this number."""
        return next((each for each in self._present if str(each.number) == number), None)

    @property
    def _present(self) -> list[StubIssue]:
        return [each for each in self.issues.values() if "is_deleted" not in each.more]


class GithubHost(IssueHost):
    """A repository of a GitHub Enterprise Server, private.

    After "REST API endpoints for issues" (list repository issues, get an issue), "… for issue comments",
    "Using pagination in the REST API" and "Troubleshooting the REST API" of docs.github.com.
    """

    kind = "github"
    since = "since"

    def __init__(self) -> None:
        super().__init__()
        place = {"url": f"{self.url}/octo/notes"}
        self.config = {**place, "credentials": {"token": TOKEN}}
        self.wrong_config = {**place, "credentials": {"token": "other"}}

    def answer(self, method: str, path: str, query: dict[str, str], environ: Mapping[str, Any]) -> Any:
        """Answer as the documentation says."""
        if environ.get("HTTP_AUTHORIZATION") != f"Bearer {TOKEN}":
            return "401 Unauthorized", {"message": "Bad credentials"}, {}
        below = path.removeprefix("/api/v3/repos/octo/notes/issues")
        if below == path:
            return "404 Not Found", {"message": "Not Found"}, {}
        if not below:
            found, is_followed = self.page(query)
            headers = {}
            if is_followed:
                address = f"{self.url}{path}?{urlencode({**query, 'page': int(query['page']) + 1})}"
                headers["Link"] = f'<{address}>; rel="next", <{self.url}{path}>; rel="last"'
            return "200 OK", list(map(self._issue_json, found)), headers
        _, number, *rest = below.split("/")
        issue = self.find(number)
        if issue is None:
            return "410 Gone", {"message": "This issue was deleted"}, {}
        if rest:
            at = format_time(issue.updated_at)
            comments = [{"user": {"login": "bob"}, "created_at": at, "body": text} for text in issue.comments]
            return "200 OK", comments, {}
        return "200 OK", self._issue_json(issue), {}

    def _issue_json(self, issue: StubIssue) -> dict[str, Any]:
        return {
            "number": issue.number,
            "title": issue.title,
            "body": issue.body or None,
            "html_url": f"{self.url}/octo/notes/issues/{issue.number}",
            "state": "open",
            "user": {"login": "ada"},
            "labels": [{"name": "harbour"}],
            "assignees": [{"login": "bob"}],
            "milestone": {"title": "v1"},
            "comments": len(issue.comments),
            "created_at": format_time(issue.created_at),
            "updated_at": format_time(issue.updated_at),
            **issue.more,
        }


class GitlabHost(IssueHost):
    """A project of a GitLab of one's own, private, with a wiki.

    After "Issues API" (list project issues, single issue), "Notes API" (issues), "Project wikis API",
    "Projects API" (get a single project) and "REST API" (offset-based pagination) of docs.gitlab.com.
    """

    kind = "gitlab"
    since = "updated_after"

    def __init__(self) -> None:
        super().__init__()
        #: Texts of the wiki's pages by slug.
        self.wiki: dict[str, str] = {}
        #: Fields of the project that differ.
        self.project: dict[str, Any] = {}
        self.wiki_status = "200 OK"
        place = {"url": f"{self.url}/sea/harbour/notes"}
        self.config = {**place, "credentials": {"token": TOKEN}}
        self.wrong_config = {**place, "credentials": {"token": "other"}}

    def answer(self, method: str, path: str, query: dict[str, str], environ: Mapping[str, Any]) -> Any:
        """Answer as the documentation says."""
        if environ.get("HTTP_PRIVATE_TOKEN") != TOKEN:
            return "401 Unauthorized", {"message": "401 Unauthorized"}, {}
        below = path.removeprefix("/api/v4/projects/sea%2Fharbour%2Fnotes")
        if below == path:
            return "404 Not Found", {"message": "404 Project Not Found"}, {}
        match below.split("/")[1:]:
            case []:
                return "200 OK", {"web_url": f"{self.url}/sea/harbour/notes", **self.project}, {}
            case ["issues"]:
                found, is_followed = self.page(query)
                following = str(int(query["page"]) + 1) if is_followed else ""
                return "200 OK", list(map(self._issue_json, found)), {"X-Next-Page": following}
            case ["wikis"]:
                pages = [
                    {"slug": slug, "title": slug, "format": "markdown", "encoding": "UTF-8", "content": text}
                    for slug, text in self.wiki.items()
                ]
                return self.wiki_status, pages, {}
            case ["issues", number, *rest] if (issue := self.find(number)) is not None:
                return "200 OK", self._notes(issue) if rest else self._issue_json(issue), {"X-Next-Page": ""}
        return "404 Not Found", {"message": "404 Not found"}, {}

    def _notes(self, issue: StubIssue) -> list[dict[str, Any]]:
        at = format_time(issue.updated_at)
        note = {"author": {"name": "Bob"}, "created_at": at, "system": False, "internal": False}
        return [
            *({**note, "body": text} for text in issue.comments),
            {**note, "system": True, "body": "changed the description"},
            {**note, "internal": True, "body": "an internal remark"},
        ]

    def _issue_json(self, issue: StubIssue) -> dict[str, Any]:
        return {
            "iid": issue.number,
            "title": issue.title,
            "description": issue.body or None,
            "web_url": f"{self.url}/sea/harbour/notes/-/issues/{issue.number}",
            "state": "opened",
            "author": {"name": "Ada", "username": "ada"},
            "labels": ["harbour"],
            "assignees": [{"username": "bob"}],
            "milestone": {"title": "v1"},
            "user_notes_count": len(issue.comments),
            "confidential": False,
            "created_at": format_time(issue.created_at).replace("Z", ".000Z"),
            "updated_at": format_time(issue.updated_at).replace("Z", ".000Z"),
            **issue.more,
        }


@contextmanager
def github_host() -> Iterator[GithubHost]:
    """Run a GitHub Enterprise Server."""
    host = GithubHost()
    with host.running():
        yield host


@contextmanager
def gitlab_host() -> Iterator[GitlabHost]:
    """Run a GitLab."""
    host = GitlabHost()
    with host.running():
        yield host
