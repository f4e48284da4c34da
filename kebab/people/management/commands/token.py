"""`kebab token create | list | revoke | rotate`."""

from argparse import ArgumentTypeError
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from kebab.cli.command import KebabCommand
from kebab.cli.errors import Exit
from kebab.cli.lookup import find_workspace
from kebab.cli.parser import add_subcommand, add_workspace, duration
from kebab.people.lookup import find_group, find_token
from kebab.people.management.commands.list import print_listing
from kebab.people.models import TokenScope
from kebab.people.operator import command_line_access
from kebab.people.token_lifecycle import AT_ONCE, MAX_OVERLAP, issue_token, revoke_token, rotate_token


def _scopes(text: str) -> list[TokenScope]:
    try:
        return [TokenScope(name.strip()) for name in text.split(",") if name.strip()]
    except ValueError as error:
        raise ArgumentTypeError(f"{error}; the scopes are {', '.join(TokenScope.values)}") from error


def _overlap(text: str) -> timedelta:
    overlap = duration(text)
    if overlap > MAX_OVERLAP:
        raise ArgumentTypeError(f"{text} is too long; a replaced token works for at most 1d more")
    return overlap


class Command(KebabCommand):
    help = "Create, list, revoke or rotate API tokens."
    needs = "servers"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        subparsers = parser.add_subparsers(dest="what", required=True, metavar="create|list|revoke|rotate")
        create = add_subcommand(subparsers, "create", "create a token and print it, this once")
        add_workspace(create)
        create.add_argument(
            "--scope", type=_scopes, required=True, metavar="S[,S…]", help=", ".join(TokenScope.values)
        )
        create.add_argument(
            "--expires", type=duration, metavar="30d", help="30d, 12h, 45m; without it: never"
        )
        create.add_argument("--name", default="", metavar="N")
        create.add_argument(
            "--group", action="append", default=[], metavar="G", help="whose restricted sources it may read"
        )
        add_workspace(add_subcommand(subparsers, "list", "list a workspace's tokens"))
        revoke = add_subcommand(subparsers, "revoke", "make a token useless, at once and for good")
        revoke.add_argument("token", metavar="ID|PREFIX")
        rotate = add_subcommand(
            subparsers, "rotate", "replace a token by a new one like it, printed this once"
        )
        rotate.add_argument("token", metavar="ID|PREFIX")
        rotate.add_argument(
            "--overlap",
            type=_overlap,
            default=AT_ONCE,
            metavar="2h",
            help="how long the old one still works, at most 1d (not at all)",
        )

    def run_command(self, *, what: str, **options: Any) -> int:
        handlers: dict[str, Callable[..., int]] = {
            "create": self._create,
            "list": self._list,
            "revoke": self._revoke,
            "rotate": self._rotate,
        }
        return handlers[what](**options)

    def _create(
        self,
        *,
        workspace: str | None,
        scope: list[TokenScope],
        expires: timedelta | None,
        name: str,
        group: list[str],
        **_: Any,
    ) -> int:
        scoped = self.act_in(find_workspace(workspace))
        token, secret = issue_token(
            command_line_access(scoped),
            scopes=scope,
            name=name,
            groups=[find_group(scoped, each).pk for each in group],
            expires_at=None if expires is None else timezone.now() + expires,
        )
        return self._show(token, secret)

    def _rotate(self, *, token: str, overlap: timedelta, **_: Any) -> int:
        found = find_token(token)
        return self._show(*rotate_token(command_line_access(found.workspace), found.pk, overlap))

    def _show(self, token: Any, secret: str) -> int:
        if self.as_json:
            facts = {"id": token.id, "name": token.name, "scopes": token.scopes, "groups": token.group_ids}
            where = {"workspace": token.workspace.slug, "expires_at": token.expires_at}
            self.print_json({"token": secret, **facts, **where})
        else:
            self.remarks.print("This token is shown only now:")
            self.console.print(secret)
        return Exit.DONE

    def _list(self, *, workspace: str | None, **_: Any) -> int:
        return print_listing(self, "tokens", self.act_in(find_workspace(workspace)))

    def _revoke(self, *, token: str, **_: Any) -> int:
        found = find_token(token)
        revoke_token(command_line_access(found.workspace), found)
        return self.answer({"id": found.id, "prefix": found.prefix, "revoked": True}, f"Revoked {found}.")
