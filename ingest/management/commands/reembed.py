"""`kebab reembed`: change a workspace's embedding model while searches continue."""

import argparse
from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from ingest.cli.job_progress import EmbeddingWatch, find_open_job
from ingest.services.embedding import build_space, retire_space, roll_back_space, switch_space
from ingest.services.model_change import embedding_status
from kebab.cli.command import KebabCommand
from kebab.cli.errors import CliError, Exit
from kebab.cli.lookup import find_workspace
from kebab.cli.output import table
from kebab.cli.parser import add_subcommand, add_workspace
from kebab.people.models import Workspace
from kebab.people.operator import command_line_access
from kebab.people.reader import OPERATOR
from kebab.stack.servers.borrowed_servers import borrow_stack
from kebab.stack.supervisor.plan import Roles

_COLUMNS = ("id", "state", "embedder", "model", "revision", "dim", "vectors", "coverage", "eta", "kept_until")


class Command(KebabCommand):
    help = "Build vectors of another model beside the live ones and switch once they are complete."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_workspace(parser, default=None)
        parser.add_argument("--embedder", metavar="E", help="one that the settings allow (the workspace's)")
        parser.add_argument("--hold", action="store_true", help="wait, complete, for: kebab reembed switch")
        parser.add_argument("--no-wait", action="store_true", help="leave it to the workers of the stack")
        commands = parser.add_subparsers(dest="what", metavar="status|switch|rollback|retire")
        for name, meaning in {
            "status": "say which spaces there are, how full they are and when they will be",
            "switch": "let the built space go live now",
            "rollback": "make the space that was live before the live one again",
        }.items():
            each = add_subcommand(commands, name, meaning)
            add_workspace(each, default=argparse.SUPPRESS)
            if name == "switch":
                each.add_argument("--force", action="store_true", help="even if golden queries get worse")
        retire = add_subcommand(commands, "retire", "delete a space that is not live, with its vectors")
        add_workspace(retire, default=argparse.SUPPRESS)
        retire.add_argument("space", type=int, help="its id, which `kebab reembed status` shows")

    def run_command(self, *, what: str | None, **options: Any) -> int:
        builds = what is None and not options["no_wait"]
        roles = Roles.WORKERS if builds else Roles.SERVERS
        with borrow_stack(roles, announce=self.remarks.print):
            workspace = self.act_in(find_workspace(options["workspace"]))
            if what is None:
                return self._build(workspace, options)
            if what != "status":
                _act(workspace, what, options)
            return self._show(workspace)

    def _build(self, workspace: Workspace, options: Mapping[str, Any]) -> int:
        build_space(command_line_access(workspace), embedder=options["embedder"], hold=options["hold"])
        job = find_open_job(workspace)
        if not options["no_wait"] and job is not None:
            watch = EmbeddingWatch.start(job, workspace)
            watch.follow(self.remarks)
            if watch.error is not None:
                raise CliError(
                    f"Embedding failed, searches go on as they were: {watch.error}", code="job_failed"
                )
        return self._show(workspace)

    def _show(self, workspace: Workspace) -> int:
        workspace.refresh_from_db()
        status = embedding_status(workspace, OPERATOR)
        if self.as_json:
            self.print_json(status)
            return Exit.DONE
        spaces = [each for each in (status["live"], status["building"], *status["retired"]) if each]
        self.console.print(table(_COLUMNS, map(_format_row, spaces)))
        self.remarks.print(
            f"{workspace.slug} has {status['chunks']} chunks; its embedder: {status['embedder']}."
        )
        if status["building"] and status["building"]["held"]:
            self.remarks.print(f"Space {status['building']['id']} waits: {status['building']['held']}")
        if status["error"]:
            self.remarks.print(f"The job waits: {status['error']}")
        return Exit.DONE


def _act(workspace: Workspace, what: str, options: Mapping[str, Any]) -> None:
    access = command_line_access(workspace)
    if what == "retire":
        retire_space(access, options["space"])
    elif what == "switch":
        switch_space(access, force=options["force"], advance=lambda: None)
    else:
        roll_back_space(access)


def _format_row(space: Mapping[str, Any]) -> dict[str, Any]:
    eta_s = space["eta_s"]
    return {
        **space,
        "coverage": f"{100 * space['coverage']:.1f} %",
        "eta": "" if not eta_s else f"{eta_s:.0f} s",
        "kept_until": space["kept_until"] and space["kept_until"].isoformat(timespec="minutes"),
    }
