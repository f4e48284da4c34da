"""`kebab group create | list | rename | add | remove | delete`."""

from typing import Any

from django.core.management.base import CommandParser

from kebab.cli.command import KebabCommand
from kebab.cli.lookup import find_workspace
from kebab.cli.parser import add_subcommand, add_workspace
from kebab.people.groups import add_to_group, create_group, delete_group, remove_from_group, rename_group
from kebab.people.lookup import find_group, find_member
from kebab.people.management.commands.list import print_listing
from kebab.people.models import Group
from kebab.people.operator import command_line_access


class Command(KebabCommand):
    help = "Manage the groups that the reading of single sources can be narrowed to."
    needs = "servers"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        subparsers = parser.add_subparsers(
            dest="what", required=True, metavar="create|list|rename|add|remove|delete"
        )
        for name, arguments, meaning in (
            ("create", ("name",), "create a group"),
            ("list", (), "list the groups"),
            ("rename", ("group", "name"), "give a group another name"),
            ("add", ("group", "email"), "put a member into a group"),
            ("remove", ("group", "email"), "take a member out of a group"),
            ("delete", ("group",), "delete a group; sources restricted to it stay restricted"),
        ):
            subparser = add_subcommand(subparsers, name, meaning)
            for argument in arguments:
                subparser.add_argument(argument)
            add_workspace(subparser)

    def run_command(self, *, what: str, workspace: str | None, **options: Any) -> int:
        self.workspace = self.act_in(find_workspace(workspace))
        self.access = command_line_access(self.workspace)
        handler = getattr(self, f"_{what}")
        return int(handler(**{name: options[name] for name in ("group", "name", "email") if name in options}))

    def _create(self, *, name: str) -> int:
        group = create_group(self.access, name)
        return self._show(group, f"Created group {group.name}.")

    def _list(self) -> int:
        return print_listing(self, "groups", self.workspace)

    def _rename(self, *, group: str, name: str) -> int:
        found = rename_group(self.access, find_group(self.workspace, group).pk, name)
        return self._show(found, f"Group {group} is now {found.name}.")

    def _add(self, *, group: str, email: str) -> int:
        found, user = find_group(self.workspace, group), find_member(self.workspace, email)
        add_to_group(self.access, found.pk, user.pk)
        return self._show(found, f"{user.email} is in {found.name} now.", email=user.email)

    def _remove(self, *, group: str, email: str) -> int:
        found, user = find_group(self.workspace, group), find_member(self.workspace, email)
        remove_from_group(self.access, found.pk, user.pk)
        return self._show(found, f"{user.email} is in {found.name} no more.", email=user.email)

    def _delete(self, *, group: str) -> int:
        size = delete_group(self.access, find_group(self.workspace, group).pk)
        had = {"members": size.member_count, "tokens": size.token_count, "sources": size.source_count}
        counts = ", ".join(f"{name}: {count}" for name, count in had.items())
        stay = " These sources stay restricted." if size.source_count else ""
        return self._show(size.group, f"Deleted group {size.group.name} ({counts}).{stay}", **had)

    def _show(self, group: Group, message: str, **facts: Any) -> int:
        return self.answer({"id": group.pk, "name": group.name, **facts}, message)
