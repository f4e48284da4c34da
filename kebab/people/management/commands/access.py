"""`kebab access`: the access report on a person or a token."""

import uuid
from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import CommandParser

from kebab.cli.command import KebabCommand
from kebab.cli.errors import Exit
from kebab.cli.lookup import find_workspace
from kebab.cli.output import table
from kebab.cli.parser import add_workspace
from kebab.people.access.caller import Caller
from kebab.people.access.report import AccessReport, explain_access
from kebab.people.lookup import find_token, find_user


def _document_id(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(hex=text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is no document's id, which has 32 hex digits") from error


class Command(KebabCommand):
    help = "Say what a person or a token can see and do in a workspace, and why."
    needs = "servers"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_workspace(parser)
        whose = parser.add_mutually_exclusive_group(required=True)
        whose.add_argument("--user", metavar="EMAIL")
        whose.add_argument("--token", metavar="PREFIX", help="or its id")
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--document",
            type=_document_id,
            metavar="ID",
            help="tell of this one; exit code 1 if hidden",
        )
        what.add_argument("--source", metavar="KEY", help="the same of a source, by key or id")

    def run_command(
        self,
        *,
        workspace: str | None,
        user: str | None,
        token: str | None,
        document: uuid.UUID | None,
        source: str | None,
        **_: Any,
    ) -> int:
        caller = Caller(user=find_user(user)) if user is not None else Caller(token=find_token(str(token)))
        scope = self.act_in(find_workspace(workspace))
        report = explain_access(scope, caller, document=document, source=source)
        if self.as_json:
            from kebab.people.api.access import AccessReportSerializer  # imports the REST framework

            self.print_json(AccessReportSerializer(report).data)
        else:
            self._show(report)
        is_hidden = (document is not None or source is not None) and not report.things[0].is_searchable
        return Exit.NOTHING if is_hidden else Exit.DONE

    def _show(self, report: AccessReport) -> None:
        self.console.print(_headline(report))
        permissions = [
            {"permission": each.name, "allowed": _yes_no(each.is_allowed), "to": each.means, "why": each.why}
            for each in report.permissions
        ]
        things = [
            {
                each.kind: each.name,
                "exists": _yes_no(each.is_visible),
                "searched and read": _yes_no(each.is_searchable),
                "why": each.why,
            }
            for each in report.things
        ]
        self.console.print(table(("permission", "allowed", "to", "why"), permissions))
        if things:
            self.console.print()
            self.console.print(table(tuple(things[0]), things))
        if report.has_more:
            self.remarks.print("There are more sources; --source tells of one.")


def _headline(report: AccessReport) -> str:
    if report.barred:
        return f"{report.subject} in {report.workspace.slug}: not let in.\n"
    what = report.role or f"scopes {', '.join(report.scopes) or 'none'}"
    groups = ", ".join(group.name for group in report.groups) or "none"
    return f"{report.subject} in {report.workspace.slug}: {what}; groups: {groups}\n"


def _yes_no(claim: bool) -> str:
    return "yes" if claim else "no"
