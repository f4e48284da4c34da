"""`kebab reembed`: change a workspace's embedding model while searches continue."""

from collections.abc import Mapping
from typing import Any

from kebab.cli.client.arguments import Parser, add_subcommands
from kebab.cli.client.connection import Connection, Needs
from kebab.cli.client.job_progress import EmbeddingWatch
from kebab.cli.client.terminal import Terminal
from kebab.cli.client.workspaces import WorkspaceApi, find_workspace
from kebab.cli.errors import CliError
from kebab.exit_codes import Exit

NEEDS: Needs = "workers"
EXAMPLES = ("kebab reembed --embedder http --workspace handbook", "kebab reembed status")
_COLUMNS = ("id", "state", "embedder", "model", "revision", "dim", "vectors", "coverage", "eta", "kept_until")


def add_arguments(parser: Parser) -> None:
    """Add the arguments."""
    parser.add_argument("--embedder", metavar="E", help="one that the settings allow (the workspace's)")
    parser.add_argument("--hold", action="store_true", help="wait, complete, for: kebab reembed switch")
    parser.add_argument("--no-wait", action="store_true", help="leave it to the workers of the stack")
    commands = add_subcommands(
        parser,
        {
            "status": ("", "say which spaces there are, how full they are and when they will be"),
            "switch": ("", "let the built space go live now"),
            "rollback": ("", "make the space that was live before the live one again"),
            "retire": ("", "delete a space that is not live, with its vectors"),
        },
        required=False,
    )
    commands["switch"].add_argument("--force", action="store_true", help="even if golden queries get worse")
    commands["retire"].add_argument("space", type=int, help="its id, which `kebab reembed status` shows")


def run(connection: Connection, options: dict[str, Any], terminal: Terminal) -> int:
    """Carry the command out, show the spaces, and return the exit code."""
    workspace = find_workspace(connection, options["workspace"])
    match options["what"]:
        case None:
            _build(workspace, options, terminal)
        case "retire":
            workspace.request("DELETE", f"/embedding/spaces/{options['space']}")
        case "switch":
            workspace.post("/embedding/switch", {"force": options["force"]})
        case "rollback":
            workspace.post("/embedding/rollback")
    return _show(workspace, terminal)


def _build(workspace: WorkspaceApi, options: dict[str, Any], terminal: Terminal) -> None:
    embedder = options["embedder"]
    watch = EmbeddingWatch.start(workspace, None)
    workspace.post("/embedding", {"hold": options["hold"], **({"embedder": embedder} if embedder else {})})
    if options["no_wait"]:
        return
    watch.follow(terminal)
    if watch.error is not None:
        raise CliError(f"Embedding failed, searches go on as they were: {watch.error}", code="job_failed")


def _show(workspace: WorkspaceApi, terminal: Terminal) -> int:
    status = workspace.get("/embedding")
    if terminal.as_json:
        terminal.document(status)
        return Exit.DONE
    spaces = [each for each in (status["live"], status["building"], *status["retired"]) if each]
    terminal.table(_COLUMNS, map(_row, spaces))
    share = status["english_share"]
    languages = (
        ""
        if share is None
        else f", by its languages ({100 * share:.1f} % of documents or searches in English)"
    )
    embedder = f"{status['embedder']}{languages}"
    terminal.remark(f"{workspace.slug} has {status['chunks']} chunks; its embedder: {embedder}.")
    if status["building"] and status["building"]["held"]:
        terminal.remark(f"Space {status['building']['id']} waits: {status['building']['held']}")
    if status["error"]:
        terminal.remark(f"The job waits: {status['error']}")
    return Exit.DONE


def _row(space: Mapping[str, Any]) -> dict[str, Any]:
    coverage = f"{100 * space['coverage']:.1f} %"
    return {**space, "coverage": coverage, "eta": f"{space['eta_s']:.0f} s" if space["eta_s"] else ""}
