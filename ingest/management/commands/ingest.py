"""`kebab ingest PATH|URL`."""

import json
from argparse import BooleanOptionalAction
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from ingest.cli.job_progress import EmbeddingWatch, follow, reload_job
from ingest.cli.job_report import print_report
from ingest.cli.sites import SiteTarget
from ingest.cli.source_readers import group_names
from ingest.cli.targets import IngestRequest, existing_path, request_ingest, target
from ingest.connectors.git.address import GitAddress
from ingest.jobs.queue.report import ingest_report, refusal_message, refused_item
from ingest.models import Job, JobState
from kebab.cli.command import KebabCommand
from kebab.cli.errors import CliError, Exit
from kebab.cli.lookup import find_workspace
from kebab.cli.output import plain
from kebab.cli.parser import add_workspace
from kebab.people.models import Workspace
from kebab.people.operator import command_line_caller
from kebab.people.workspaces import create_workspace
from search.models import Trust

_MAX_CREDENTIALS_BYTES = 50_000


class Command(KebabCommand):
    help = (
        "Ingest a folder, a git repository or a web site, as a source that the same command syncs again,"
        " or upload a file or an archive."
    )
    needs = "workers"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "path",
            type=target,
            metavar="PATH|URL",
            help="a folder, a file, a git repository's or a site's address",
        )
        add_workspace(parser)
        parser.add_argument("--create", action="store_true", help="make the workspace if it isn't there")
        parser.add_argument(
            "--source", metavar="NAME", help="the source (the folder's name; uploads for a file)"
        )
        parser.add_argument(
            "--tag", action="append", default=[], metavar="T", help="for what is new or changed"
        )
        parser.add_argument(
            "--trust", choices=Trust.values, help="for all documents of the source that state no other level"
        )
        parser.add_argument(
            "--version",
            default="",
            metavar="V",
            help="the version that these documents are; of a repository the tag or branch to read",
        )
        parser.add_argument(
            "--credentials",
            type=existing_path,
            metavar="FILE",
            help="what the repository is read with from now on: JSON with token, or username and password, or"
            " private_key",
        )
        parser.add_argument(
            "--watch",
            action=BooleanOptionalAction,
            default=None,
            help="sync the folder soon after something in it has changed, whenever a stack runs",
        )
        parser.add_argument(
            "--as-root",
            action="store_true",
            help="an archive's documents keep their paths (else: below its name)",
        )
        parser.add_argument(
            "--readers",
            type=group_names,
            metavar="GROUP[,GROUP…]",
            help="of a new source: the groups that alone read it, beside owners and admins ('': none)",
        )
        parser.add_argument("--no-embed", action="store_true", help="lexical search only, for now")

    def run_command(
        self,
        *,
        path: Path | GitAddress | SiteTarget,
        workspace: str | None,
        create: bool,
        **options: Any,
    ) -> int:
        request = IngestRequest(
            path=path,
            source=options["source"],
            tags=tuple(options["tag"]),
            trust=options["trust"],
            version=options["version"],
            embed=not options["no_embed"],
            watch=options["watch"],
            as_root=options["as_root"],
            credentials=_credentials(options["credentials"]),
            readers=options["readers"],
        )
        return self._ingest(self.act_in(_workspace(workspace, create=create)), request)

    def _ingest(self, workspace: Workspace, request: IngestRequest) -> int:
        job = request_ingest(workspace, request)
        watch = EmbeddingWatch.start(job, workspace)
        try:
            job = follow(job, self.remarks, f"Ingesting {plain(request.path.name)}")
            if request.embed and job.state == JobState.SUCCEEDED:
                watch.follow(self.remarks)
        except KeyboardInterrupt:
            job = reload_job(job)
            self._print_interruption(job)
            self._report(job, watch)
            raise
        self._report(job, watch)
        return self._exit_code(job)

    def _exit_code(self, job: Job) -> int:
        if job.state == JobState.FAILED:
            raise CliError(f"The job failed: {job.error}", code="job_failed")
        if job.state == JobState.CANCELLED:
            raise CliError("The job was cancelled.", code="job_cancelled", exit_code=Exit.NOTHING)
        refused = refused_item(job)
        if refused is not None:
            message = refusal_message(job, refused.reason, refused.detail)
            raise CliError(message, code="not_ingested", exit_code=Exit.NOTHING)
        return Exit.DONE

    def _print_interruption(self, job: Job) -> None:
        if job.state == JobState.SUCCEEDED:
            self.remarks.print("All is indexed; embedding goes on whenever a stack runs.")
        else:
            self.remarks.print(
                "Cancelled. What was indexed stays searchable; the same command goes on from there."
            )

    def _report(self, job: Job, watch: EmbeddingWatch) -> None:
        report = {**ingest_report(job), "embedding_calls": watch.calls, "embedding_error": watch.error}
        if self.as_json:
            self.print_json(report)
            return
        print_report(self.console, report)
        if watch.error is not None:
            self.remarks.print(plain(f"Embedding failed, lexical search works: {watch.error}"))


def _credentials(file: Path | None) -> dict[str, Any] | None:
    if file is None:
        return None
    try:
        with file.open("rb") as opened:
            given = json.loads(opened.read(_MAX_CREDENTIALS_BYTES))
    except (ValueError, OSError) as error:
        raise CliError(f"{file} can't be read as JSON.", code="credentials_refused") from error
    from ingest.api.sources.configs import GitCredentials  # the API takes a third of a second to import

    serializer = GitCredentials(data=given)
    if not serializer.is_valid():
        raise CliError(
            "The credentials must have one of token, password and private_key, and with a password username.",
            code="credentials_refused",
        )
    return dict(serializer.validated_data)


def _workspace(named: str | None, *, create: bool) -> Workspace:
    if not create or named is None or Workspace.objects.by_slug_or_id(named).exists():
        return find_workspace(named)
    return create_workspace(command_line_caller(), named)
