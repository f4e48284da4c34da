"""Plans of a stack's processes: servers, preparation, web, workers, and the upkeep of the node."""

import sys
from enum import StrEnum
from signal import SIGTERM

from kebab.stack.configuration import EMBED_QUEUES, WORKER_QUEUES, StackConfiguration
from kebab.stack.servers.embedded_server import EmbeddedServer
from kebab.stack.servers.postgres import EmbeddedPostgres
from kebab.stack.servers.redis import EmbeddedRedis
from kebab.stack.supervisor.child import ChildPlan

_EMBED_NICENESS = 10


class Roles(StrEnum):
    """The part of the stack that runs."""

    SERVERS = "servers"
    WORKERS = "workers"
    ALL = "all"


def embedded_servers(configuration: StackConfiguration) -> list[EmbeddedServer]:
    """Return the embedded servers of this stack, in the order of their start."""
    directory, runtime_dir = configuration.directory.path, configuration.runtime_dir
    servers: list[EmbeddedServer] = []
    if configuration.has_embedded_postgres:
        servers.append(EmbeddedPostgres(directory, runtime_dir=runtime_dir, user=configuration.postgres_user))
    if configuration.has_embedded_redis:
        servers.append(EmbeddedRedis(directory, runtime_dir=runtime_dir))
    return servers


def preparation_plan(configuration: StackConfiguration) -> ChildPlan:
    """Return the plan of the one-off process that migrates and runs the init steps."""
    return _command_plan(configuration, "prepare", ("init", "--on-running-servers"))


def process_plans(configuration: StackConfiguration, roles: Roles) -> list[ChildPlan]:
    """Return the plans of Kebab's own processes for these roles, in the order of their start."""
    workers = [_worker_plan(configuration), _embedder_plan(configuration)]
    match roles:
        case Roles.SERVERS:
            return []
        case Roles.WORKERS:
            return [*workers, _command_plan(configuration, "upkeep", ("upkeep", "--no-watch"))]
        case Roles.ALL:
            return [_web_plan(configuration), *workers, _command_plan(configuration, "upkeep", ("upkeep",))]


def _web_plan(configuration: StackConfiguration) -> ChildPlan:
    address = ("--host", configuration.host, "--port", str(configuration.port))
    return _command_plan(configuration, "web", ("web", *address))


def _worker_plan(configuration: StackConfiguration) -> ChildPlan:
    slots = ("--slots", str(configuration.worker_slots))
    queues = ("--queues", ",".join(WORKER_QUEUES))
    return _command_plan(configuration, "worker", ("worker", "--name", "worker", *queues, *slots))


def _embedder_plan(configuration: StackConfiguration) -> ChildPlan:
    queues = ("--queues", ",".join(EMBED_QUEUES), "--slots", "1")
    return _command_plan(
        configuration, "embedder", ("worker", "--name", "embedder", *queues), nice=_EMBED_NICENESS
    )


def _command_plan(
    configuration: StackConfiguration, name: str, arguments: tuple[str, ...], *, nice: int = 0
) -> ChildPlan:
    manage = configuration.project / "manage.py"
    # An installed package has no manage.py. The working directory stays: relative paths depend on it.
    program = (str(manage),) if manage.exists() else ("-m", "kebab")
    return ChildPlan(
        name=name,
        command=(sys.executable, *program, *arguments),
        log=configuration.directory.logs / f"{name}.log",
        stop_signal=SIGTERM,
        nice=nice,
        arguments=arguments,
    )
