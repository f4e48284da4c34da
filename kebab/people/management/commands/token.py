"""`kebab token create | list | revoke`."""

import re
import uuid
from argparse import ArgumentTypeError
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from kebab.cli.console import table
from kebab.cli.errors import CliError, Exit
from kebab.cli.parser import duration, subverb
from kebab.cli.resolve import the_workspace
from kebab.cli.verb import BaseVerb
from kebab.people import audit
from kebab.people.listings import TOKEN_COLUMNS, token_rows
from kebab.people.models import ApiToken, Scope
from kebab.people.revocation import revoke_token
from kebab.people.tokens import mint_token

_PREFIX = re.compile(r"\A(?:kbb_)?([a-z2-7]{12})(?:_.*)?\Z")
_MOST_LISTED = 1_000


def _scopes(text: str) -> list[Scope]:
    try:
        return [Scope(name.strip()) for name in text.split(",") if name.strip()]
    except ValueError as error:
        raise ArgumentTypeError(f"{error}; the scopes are {', '.join(Scope.values)}") from error


class Command(BaseVerb):
    help = "Create, list or revoke API tokens."
    needs = "servers"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        verbs = parser.add_subparsers(dest="what", required=True, metavar="create|list|revoke")
        create = subverb(verbs, "create", "create a token and print it, this once")
        create.add_argument("--workspace", metavar="W")
        create.add_argument(
            "--scope", type=_scopes, required=True, metavar="S[,S…]", help=", ".join(Scope.values)
        )
        create.add_argument(
            "--expires", type=duration, metavar="30d", help="30d, 12h, 45m; without it: never"
        )
        create.add_argument("--name", default="", metavar="N")
        subverb(verbs, "list", "list a workspace's tokens").add_argument("--workspace", metavar="W")
        revoke = subverb(verbs, "revoke", "make a token useless, at once and for good")
        revoke.add_argument("token", metavar="ID|PREFIX")

    def run_verb(self, *, what: str, **options: Any) -> int:
        return {"create": self._create, "list": self._list, "revoke": self._revoke}[what](**options)

    def _create(
        self, *, workspace: str | None, scope: list[Scope], expires: timedelta | None, name: str, **_: Any
    ) -> int:
        expires_at = None if expires is None else timezone.now() + expires
        with transaction.atomic():
            token, secret = mint_token(
                the_workspace(workspace), scopes=scope, name=name, expires_at=expires_at
            )
            audit.record_operator(
                token.workspace, "token.created", f"kbb_{token.prefix}", scopes=token.scopes
            )
        if self.as_json:
            facts = {"id": token.id, "name": name, "scopes": token.scopes, "expires_at": expires_at}
            self.print_json({"token": secret, "workspace": token.workspace.slug, **facts})
        else:
            self.remarks.print("This token is shown only now:")
            self.console.print(secret)
        return Exit.DONE

    def _list(self, *, workspace: str | None, **_: Any) -> int:
        rows = list(token_rows(the_workspace(workspace), _MOST_LISTED))
        if self.as_json:
            self.print_json({"schema_version": "listing.v1", "kind": "tokens", "rows": rows})
        elif rows:
            self.console.print(table(TOKEN_COLUMNS, rows))
        return Exit.DONE if rows else Exit.NOTHING

    def _revoke(self, *, token: str, **_: Any) -> int:
        found = _named(token)
        with transaction.atomic():
            if revoke_token(found):
                audit.record_operator(found.workspace, "token.revoked", f"kbb_{found.prefix}")
        if self.as_json:
            self.print_json({"id": found.id, "prefix": found.prefix, "revoked": True})
        else:
            self.console.print(f"Revoked {found}.")
        return Exit.DONE


def _named(id_or_prefix: str) -> ApiToken:
    prefix = _PREFIX.match(id_or_prefix)
    try:
        which = Q(prefix=prefix[1]) if prefix is not None else Q(id=uuid.UUID(id_or_prefix))
    except ValueError as error:
        raise CliError(f"{id_or_prefix[:40]!r} is neither a token's id nor its prefix (kbb_…).") from error
    token = ApiToken.objects.select_related("workspace").filter(which).first()
    if token is None:
        raise CliError(
            "There is no such token; see: kebab token list", code="not_found", exit_code=Exit.NOTHING
        )
    return token
