"""The commands by task, with a line on each, as `kebab help` lists them."""

from collections.abc import Mapping
from typing import Final

#: The commands of each task and what they do, in the order of the list.
TASKS: Final[Mapping[str, Mapping[str, str]]] = {
    "Find": {
        "search": "search a workspace",
        "ask": "answer a question from its documents, with citations",
        "context": "gather what a request needs, within a budget, as agents are given it",
        "list": "list sources, documents, jobs, members, tokens and more",
        "inspect": "show what the index holds of a document, a passage or a job",
        "api": "send any request of the HTTP API, and print the answer",
        "mcp": "serve tools for agents on standard input and output",
    },
    "Add documents": {
        "ingest": "ingest a folder, file, archive, git repository or website",
        "source": "change who reads a source or how far it can be relied on, or test its connection",
        "reembed": "embed a workspace by another model",
        "export": "write a workspace into one file",
        "import": "read a workspace from such a file",
    },
    "People": {
        "workspace": "create, rename, set up, limit or delete a workspace",
        "token": "create, list, revoke or rotate API tokens",
        "createsuperuser": "create an operator's account",
        "changepassword": "set the password of an account",
        "login": "use another server from here, with a token",
        "logout": "forget that server",
    },
    "Run": {
        "demo": "start a stack with example documents",
        "up": "run the whole stack until Ctrl-C",
        "status": "show processes, queues and lag",
        "doctor": "check everything, and repair what can be",
        "init": "create or migrate the database",
        "backup": "back up everything into a folder",
        "restore": "restore a backup",
        "web": "run the web server alone",
        "worker": "run a worker alone",
        "mirror": "run the mirror of this node alone, or check and rebuild it",
        "beat": "run the schedule alone",
        "watch": "run the watch over folders alone",
        "upkeep": "run mirror, schedule and watch in one process",
        "node": "manage the nodes of a deployment",
        "connector": "check a program that reads another system",
        "reseal": "encrypt stored credentials by the present key",
        "migrate": "migrate the database, or show what would be done",
        "alive": "tell whether a process of this node is alive",
    },
    "Measure": {
        "eval": "measure the quality of search on judged queries",
    },
    "Help": {
        "help": "list the commands, or explain one",
        "version": "print the version",
        "completion": "print the completion of a shell: bash, zsh or fish",
    },
}
#: What each command does, by its name.
COMMANDS: Final[Mapping[str, str]] = {name: text for task in TASKS.values() for name, text in task.items()}
#: What to call instead of each command that is gone.
REPLACED: Final[Mapping[str, str]] = {
    "access": "kebab api GET '/workspaces/{ws}/access?user=ID' or '…?token=ID'",
    "bench": "make bench in a checkout",
    "group": "kebab api GET or POST /workspaces/{ws}/groups, PATCH or DELETE …/groups/{id}, PUT or DELETE"
    " …/groups/{id}/members/{user_id}",
    "member": "kebab api GET or POST /workspaces/{ws}/members or …/invitations, PATCH or DELETE"
    " …/members/{user_id}",
    "partition": "partitioned tables as they are, or version 0.3.0 to make them whole before an upgrade",
    "quarantine": "kebab api GET /workspaces/{ws}/quarantine, POST …/quarantine/{id}/retry, DELETE"
    " …/quarantine/{id}",
    "rules": "kebab api GET, POST or PUT /workspaces/{ws}/rules, PATCH or DELETE …/rules/{id}",
}
