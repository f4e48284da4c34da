"""`kebab workspace create | rename | set | quota | delete`."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from kebab.cli.command import KebabCommand
from kebab.cli.errors import CliError, Exit
from kebab.cli.lookup import find_workspace
from kebab.cli.output import table
from kebab.cli.parser import add_subcommand
from kebab.cli.settings import parse_limits, parse_settings
from kebab.people.deletion import delete_workspace
from kebab.people.lookup import find_user
from kebab.people.models import Workspace
from kebab.people.operator import command_line_access, command_line_caller
from kebab.people.quotas import quota_of, set_quota
from kebab.people.workspace_settings.registry import preferences
from kebab.people.workspaces import change_workspace, create_workspace


class Command(KebabCommand):
    help = "Create, rename, set up, limit or delete a workspace."
    needs = "servers"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        subparsers = parser.add_subparsers(
            dest="what", required=True, metavar="create|rename|set|quota|delete"
        )
        create = add_subcommand(subparsers, "create", "create a workspace")
        create.add_argument("slug")
        create.add_argument("--name", default="", metavar="N", help="what people call it (the slug)")
        create.add_argument("--owner", metavar="EMAIL", help="the user who owns it (nobody)")
        rename = add_subcommand(subparsers, "rename", "give a workspace another slug or name")
        rename.add_argument("slug")
        rename.add_argument("new_slug", nargs="?")
        rename.add_argument("--name", metavar="N")
        setting = add_subcommand(subparsers, "set", "change settings of a workspace, or show them")
        setting.add_argument("slug")
        setting.add_argument(
            "changes", nargs="*", metavar="NAME=VALUE", help="fusion=convex; without a value: the default"
        )
        setting.add_argument(
            "--force", action="store_true", help="change them even where golden queries get worse"
        )
        quota = add_subcommand(
            subparsers, "quota", "change what a workspace may hold and ask for, or show it"
        )
        quota.add_argument("slug")
        quota.add_argument(
            "changes",
            nargs="*",
            metavar="NAME=N",
            help="documents=100000; 0: no limit; without a number: as for all",
        )
        delete = add_subcommand(subparsers, "delete", "delete a workspace with everything in it")
        delete.add_argument("slug")
        delete.add_argument("--yes", action="store_true", help="don't ask")

    def run_command(self, *, what: str, **options: Any) -> int:
        handlers: dict[str, Callable[..., int]] = {
            "create": self._create,
            "rename": self._rename,
            "set": self._set,
            "quota": self._quota,
            "delete": self._delete,
        }
        return handlers[what](**options)

    def _create(self, *, slug: str, name: str, owner: str | None, **_: Any) -> int:
        user = find_user(owner) if owner is not None else None
        workspace = create_workspace(command_line_caller(), slug, name=name, owner=user)
        return self._show(workspace, f"Created workspace {slug}.")

    def _rename(self, *, slug: str, new_slug: str | None, name: str | None, **_: Any) -> int:
        if new_slug is None and name is None:
            raise CliError("Nothing to change: give a new slug, or --name.")
        workspace = change_workspace(
            command_line_access(self.act_in(find_workspace(slug))), slug=new_slug, name=name
        )
        return self._show(workspace, f"Workspace {slug} is now {workspace.slug} ({workspace.name}).")

    def _set(self, *, slug: str, changes: Sequence[str], force: bool, **_: Any) -> int:
        workspace = self.act_in(find_workspace(slug))
        if changes:
            access = command_line_access(workspace)
            wanted = parse_settings(changes)
            workspace = change_workspace(access, settings=wanted, force=force, advance=lambda: None)
        found = preferences(workspace)
        if self.as_json:
            self.print_json({"slug": workspace.slug, "settings": found})
        else:
            rows = [{"name": name, "value": json.dumps(value)} for name, value in found.items()]
            self.console.print(table(("name", "value"), rows))
        return Exit.DONE

    def _quota(self, *, slug: str, changes: Sequence[str], **_: Any) -> int:
        access = command_line_access(self.act_in(find_workspace(slug)))
        found = asdict(set_quota(access, parse_limits(changes)) if changes else quota_of(access.workspace))
        if self.as_json:
            self.print_json({"slug": slug, "quota": found})
        else:
            rows = [{"name": name, "limit": limit or "none"} for name, limit in found.items()]
            self.console.print(table(("name", "limit"), rows))
        return Exit.DONE

    def _delete(self, *, slug: str, yes: bool, **_: Any) -> int:
        workspace = self.act_in(find_workspace(slug))
        if not yes and not self._confirms(workspace):
            raise CliError(
                f"Workspace {slug} was not deleted; confirm with --yes.",
                code="refused",
                exit_code=Exit.NOTHING,
            )
        delete_workspace(command_line_access(workspace))
        return self._show(workspace, f"Deleted workspace {slug}.")

    def _confirms(self, workspace: Workspace) -> bool:
        if self.as_json or not sys.stdin.isatty():
            return False
        self.remarks.print(f"Deletes {workspace.slug} with all it holds. Type its slug to go on: ", end="")
        return sys.stdin.readline().strip() == workspace.slug

    def _show(self, workspace: Workspace, message: str) -> int:
        return self.answer({"id": workspace.id, "slug": workspace.slug, "name": workspace.name}, message)
