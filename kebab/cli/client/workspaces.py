"""The API of one workspace, and the things in it that arguments name."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from kebab.cli.client.connection import ApiProblem, Connection
from kebab.cli.errors import CliError, NotFound

_MOST_CHOICES = 20
_ALL = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceApi:
    """A workspace, and requests below its address."""

    connection: Connection
    #: As the API has it.
    facts: Mapping[str, Any]

    @property
    def slug(self) -> str:
        """Return the slug."""
        return str(self.facts["slug"])

    def get(self, path: str, /, **query: Any) -> Any:
        """Return a document."""
        return self.connection.get(self.address(path), **query)

    def get_or_none(self, path: str) -> Any:
        """Return a document; None if there is none."""
        try:
            return self.get(path)
        except ApiProblem as problem:
            if problem.status != 404:
                raise
            return None

    def post(self, path: str, body: Any = None) -> Any:
        """Post a JSON body, and return the document of the answer."""
        return self.connection.post(self.address(path), body)

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request, and return the document of the answer."""
        return self.connection.request(method, self.address(path), body)

    def rows(self, path: str, limit: int = _ALL, /, **query: Any) -> Iterator[dict[str, Any]]:
        """Yield the first rows of a list."""
        return self.connection.rows(self.address(path), limit, **query)

    def address(self, path: str) -> str:
        """Return an address below `/api/v1`."""
        return f"/workspaces/{self.slug}{path}"

    def find_group(self, name_or_id: str) -> dict[str, Any]:
        """Return the group with this id or name. Raises CliError."""
        groups = list(self.rows("/groups"))
        # The id first: an admin may give a group the id of another as its name.
        for field in ("id", "name"):
            for group in groups:
                if group[field] == name_or_id:
                    return group
        raise NotFound(f"There is no group {name_or_id[:100]!r} in {self.slug}; see: kebab list groups")

    def find_groups(self, names: Iterable[str]) -> list[dict[str, Any]]:
        """Return the groups with these names or ids, each once. Raises CliError."""
        return list({group["id"]: group for group in map(self.find_group, names)}.values())

    def find_source(self, key: str) -> dict[str, Any]:
        """Return the source with this key or id. Raises CliError."""
        for source in self.rows("/sources"):
            if key in (source["key"], source["id"]):
                return source
        raise NotFound(f"There is no source {key[:100]!r} in {self.slug}; see: kebab list sources")

    def group_names(self) -> dict[str, str]:
        """Return the names of the groups by id."""
        return {group["id"]: group["name"] for group in self.rows("/groups")}


def find_workspace(connection: Connection, named: str | None) -> WorkspaceApi:
    """Return the named workspace, else that of KEBAB_WORKSPACE, else the only one.

    Raises CliError with the choices.
    """
    named = named or os.environ.get("KEBAB_WORKSPACE", "").strip() or None
    if named is not None:
        return WorkspaceApi(connection=connection, facts=_get(connection, named))
    found = connection.get("/workspaces", limit=2)["results"]
    if len(found) != 1:
        which = "Say which workspace with --workspace;" if found else "No workspace was named, and"
        raise CliError(f"{which} {_choices(connection)}.", code="workspace_needed")
    return WorkspaceApi(connection=connection, facts=found[0])


def _get(connection: Connection, named: str) -> Any:
    try:
        return connection.get(f"/workspaces/{quote(named, safe='') or '-'}")
    except ApiProblem as problem:
        if problem.status != 404:
            raise
        raise CliError(
            f"There is no workspace {named[:100]!r}; {_choices(connection)}.", code="not_found"
        ) from problem


def _choices(connection: Connection) -> str:
    slugs = [row["slug"] for row in connection.rows("/workspaces", _MOST_CHOICES + 1)]
    if not slugs:
        return "there is none yet: kebab workspace create SLUG"
    more = ", …" if len(slugs) > _MOST_CHOICES else ""
    return f"there are: {', '.join(slugs[:_MOST_CHOICES])}{more}"
