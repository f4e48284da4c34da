"""`kebab member list | invite | withdraw | add | role | remove`."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from kebab.cli.command import KebabCommand
from kebab.cli.errors import CliError, Exit
from kebab.cli.lookup import find_workspace
from kebab.cli.parser import add_subcommand, add_workspace
from kebab.people.invitations.lifecycle import invite, withdraw_invitation
from kebab.people.invitations.mail import send_invitation
from kebab.people.lookup import find_group, find_member
from kebab.people.management.commands.list import print_listing
from kebab.people.members import add_member, change_role, remove_member
from kebab.people.models import Membership, Role
from kebab.people.models.user import normalize_email
from kebab.people.operator import command_line_access
from kebab.stack.configuration import StackConfiguration

_ROLES = [role.value for role in Role]


class Command(KebabCommand):
    help = "Manage who belongs to a workspace, and as what."
    needs = "servers"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        subparsers = parser.add_subparsers(
            dest="what", required=True, metavar="list|invite|withdraw|add|role|remove"
        )
        add_subcommand(subparsers, "list", "list the members")
        invited = add_subcommand(subparsers, "invite", "invite somebody; the link is printed, this once")
        added = add_subcommand(subparsers, "add", "make somebody a member who has an account already")
        withdrawn = add_subcommand(subparsers, "withdraw", "make the link of an invitation useless")
        changed = add_subcommand(subparsers, "role", "give a member another role")
        removed = add_subcommand(subparsers, "remove", "end a membership, also in all groups")
        for subparser in (invited, added, withdrawn, changed, removed):
            subparser.add_argument("email")
        for subparser in (invited, added):
            subparser.add_argument(
                "--role", choices=_ROLES, default=Role.VIEWER.value, help="default: viewer"
            )
        changed.add_argument("role", choices=_ROLES)
        invited.add_argument("--group", action="append", default=[], metavar="G", help="a group to join")
        invited.add_argument("--url", metavar="URL", help="where people find Kebab (KEBAB_URL)")
        for subparser in subparsers.choices.values():
            add_workspace(subparser)

    def run_command(self, *, what: str, workspace: str | None, **options: Any) -> int:
        self.workspace = self.act_in(find_workspace(workspace))
        self.access = command_line_access(self.workspace)
        names = ("email", "role", "group", "url")
        return int(getattr(self, f"_{what}")(**{name: options[name] for name in names if name in options}))

    def _list(self) -> int:
        return print_listing(self, "members", self.workspace)

    def _invite(self, *, email: str, role: str, group: list[str], url: str | None) -> int:
        groups = [find_group(self.workspace, each).pk for each in group]
        invited = invite(self.access, email, Role(role), groups)
        invitation = invited.invitation
        site = url or settings.KEBAB_URL or StackConfiguration.from_settings().url
        link = site.rstrip("/") + invited.path
        is_mailed = send_invitation(invitation, link)
        if self.as_json:
            facts = {"email": invitation.email, "role": role, "expires_at": invitation.expires_at}
            self.print_json({"id": invitation.pk, "link": link, "is_mailed": is_mailed, **facts})
            return Exit.DONE
        how = "The link was mailed" if is_mailed else "The link was not mailed, so pass it on"
        self.remarks.print(f"{how}. It works once, until {invitation.expires_at:%Y-%m-%d %H:%M} UTC:")
        self.console.print(link)
        return Exit.DONE

    def _withdraw(self, *, email: str) -> int:
        open_ones = list(self.workspace.invitations.open().filter(email=normalize_email(email)))
        if not open_ones:
            raise CliError(
                f"{email} has no open invitation; see: kebab list invitations",
                code="not_found",
                exit_code=Exit.NOTHING,
            )
        for invitation in open_ones:
            withdraw_invitation(self.access, invitation.pk)
        return self.answer({"email": open_ones[0].email, "withdrawn": len(open_ones)}, "Withdrawn.")

    def _add(self, *, email: str, role: str) -> int:
        return self._answer_membership(add_member(self.access, email, Role(role)))

    def _role(self, *, email: str, role: str) -> int:
        return self._answer_membership(
            change_role(self.access, find_member(self.workspace, email).pk, Role(role))
        )

    def _remove(self, *, email: str) -> int:
        user = find_member(self.workspace, email)
        tokens_left = remove_member(self.access, user.pk)
        message = f"{user.email} belongs to {self.workspace.slug} no more."
        if tokens_left:
            message += f" Tokens made by them that still work: {tokens_left} (kebab token list)."
        return self.answer({"email": user.email, "tokens_left": tokens_left}, message)

    def _answer_membership(self, membership: Membership) -> int:
        email, role = membership.user.email, membership.role
        facts = {"user_id": membership.user_id, "email": email, "role": role}
        return self.answer(facts, f"{email} is {role} of {self.workspace.slug} now.")
