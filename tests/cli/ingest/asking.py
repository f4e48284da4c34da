"""Requests of `kebab ingest`, whose jobs don't run yet."""

import io

from ingest.models import Job
from kebab.cli.client.arguments import make_parser
from kebab.cli.client.commands import ingest
from kebab.cli.client.terminal import Terminal
from kebab.cli.client.workspaces import find_workspace
from kebab.cli.in_process import this_process


def ask(workspace, *arguments, is_local=True):
    """Return the job of `kebab ingest ARGUMENTS`, asked by the operator or from another machine."""
    err = io.StringIO()
    arguments = tuple(map(str, arguments))
    options = vars(make_parser("ingest", "ingest", ingest, arguments, err).parse_args(arguments))
    terminal = Terminal(io.StringIO(), err, as_json=False)
    connection = this_process()
    object.__setattr__(connection, "is_local", is_local)
    api = find_workspace(connection, workspace.slug)
    return Job.objects.get(pk=ingest.request_ingest(api, options["target"], options, terminal)["id"])
