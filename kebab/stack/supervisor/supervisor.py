"""The supervisor, which starts the processes of a stack in order, restarts them, and stops them in order."""

import contextlib
import gc
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator

from django.utils import timezone

from kebab.database.connections import close_connections
from kebab.exit_codes import Exit
from kebab.stack.configuration import StackConfiguration
from kebab.stack.errors import PreparationFailed, RestoreUnfinished, StackError
from kebab.stack.paths import remove_runtime_directory
from kebab.stack.servers.embedded_server import EmbeddedServer
from kebab.stack.servers.reachability import check_external_servers, is_serving
from kebab.stack.supervisor.child import Child, ChildPlan, ForkedChild, limit_log, log_tail
from kebab.stack.supervisor.fork_server import ForkServer, RunCommand, preload
from kebab.stack.supervisor.plan import Roles, embedded_servers, preparation_plan, process_plans
from kebab.stack.supervisor.process_id import ProcessIdentity
from kebab.stack.supervisor.state import NamedProcess, StackState, write_state
from kebab.stack.supervisor.watchdog import Watchdog

logger = logging.getLogger(__name__)

# A process of several parts is in the state under their names.
_PARTS = {"upkeep": ("mirror", "beat", "watch")}
_FIRST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 10.0
_HEALTHY_AFTER_S = 30.0
_TICK_S = 0.1
_SOFT_STOP_LIMIT_S = 30.0
_LOG_CHECK_PERIOD_S = 60.0
# A web process whose application can't be imported ends, and its log has the only message.
_SLOW_START_S = 30.0
# The preparation is retried after a lost server, but not for longer.
_PREPARATION_LIMIT_S = 120.0


class SupervisedProcess:
    """A process and its restart backoff: 0.2 s, doubled up to 10 s, reset after 30 s of uptime."""

    def __init__(self, member: EmbeddedServer | Child | ForkedChild) -> None:
        self.member = member
        self._pause_s = _FIRST_PAUSE_S
        self._spawned_at = time.monotonic()
        self._due_at: float | None = None

    def spawn(self) -> None:
        """Start the member."""
        self._due_at = None
        self._spawned_at = time.monotonic()
        self.member.spawn()

    def uptime_s(self) -> float:
        """Return the seconds since the last start."""
        return time.monotonic() - self._spawned_at

    def record_exit(self) -> float | None:
        """Record an exit of the member; return the backoff in seconds if it is a new one, else None."""
        if self._due_at is not None or self.member.is_alive():
            return None
        if self.uptime_s() >= _HEALTHY_AFTER_S:
            self._pause_s = _FIRST_PAUSE_S
        pause_s = self._pause_s
        self._due_at = time.monotonic() + pause_s
        self._pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
        return pause_s

    def is_due(self) -> bool:
        """Return whether the backoff is over and the member is to be started."""
        return self._due_at is not None and time.monotonic() >= self._due_at


class StopRequest:
    """A stop request: after one the stack finishes its work, after two it stops at once. Signal-safe."""

    def __init__(self) -> None:
        self._times = 0

    def request(self, *_: object) -> None:
        """Request the stop."""
        self._times += 1

    @property
    def is_requested(self) -> bool:
        """Return whether the stack has to stop."""
        return self._times > 0

    @property
    def is_urgent(self) -> bool:
        """Return whether the stack must not wait for running work."""
        return self._times > 1


class Supervisor:
    """The supervisor of a stack, run by the thread that calls `run`; the caller holds the data directory.

    The children are tied to that thread: when it ends in any way, they end.
    """

    def __init__(
        self,
        configuration: StackConfiguration,
        roles: Roles,
        *,
        announce: Callable[[str], None],
        run_command: RunCommand | None = None,
    ) -> None:
        """Take what runs a command in a forked process; without it, each process is started anew."""
        self._run_command = run_command
        self._configuration = configuration
        self._announce = announce
        self._servers = embedded_servers(configuration)
        self._plans = process_plans(configuration, roles)
        self._supervised_children: list[SupervisedProcess] = []
        self._fork_server: ForkServer | None = None
        self._supervised_servers = [SupervisedProcess(server) for server in self._servers]
        self._roles = roles
        self._watchdog = Watchdog(configuration) if self._plans else None
        self._started_at = timezone.now().isoformat()
        self._is_ready = False
        self._is_state_written = True
        self._step_began_at = time.monotonic()
        self._slow_at = time.monotonic() + _SLOW_START_S
        self._logs_checked_at = time.monotonic()

    def run(self, stop: StopRequest, *, on_ready: Callable[[], None] = lambda: None) -> None:
        """Start all processes, keep them running until the stop is requested, then stop them.

        Raises:
            StackError: a server or the preparation failed; all started processes are stopped again.
        """
        try:
            self._start(stop)
            while not stop.is_requested:
                self._run_tick(stop)
                if not self._is_ready:
                    self._check_ready(on_ready)
                time.sleep(_TICK_S)
        finally:
            self._stop(stop)

    def _start(self, stop: StopRequest) -> None:
        self._check_restore_finished()
        check_external_servers(self._configuration)
        with self._preloading():
            for server in self._servers:
                server.start(should_stop=lambda: stop.is_requested)
                self._write_state()
        self._report_step("Servers run")
        self._supervised_children = [SupervisedProcess(self._child(plan)) for plan in self._plans]
        if not stop.is_requested:
            self._prepare(stop)
            self._report_step("Database is ready")
        for supervised in self._supervised_children:
            if not stop.is_requested:
                supervised.spawn()
                self._write_state()
        if self._watchdog is not None:
            self._watchdog.start()

    @contextlib.contextmanager
    def _preloading(self) -> Iterator[None]:
        """Import the application while servers start; then fork the fork server, if it is to run commands."""
        if self._run_command is None or sys.platform != "linux":
            yield
            return
        gc.disable()
        imports = threading.Thread(target=preload, name="preload")
        imports.start()
        try:
            yield
        finally:
            imports.join()
        close_connections()
        self._fork_server = ForkServer(self._run_command)
        gc.enable()

    def _child(self, plan: ChildPlan) -> Child | ForkedChild:
        return Child(plan) if self._fork_server is None else ForkedChild(plan, self._fork_server)

    def _check_restore_finished(self) -> None:
        directory = self._configuration.directory
        if directory.unfinished_restore.exists():
            raise RestoreUnfinished(
                f"A restore into {directory.path} did not come to its end; run `kebab restore` again."
            )

    def _prepare(self, stop: StopRequest) -> None:
        """Run the preparation, again if a server is lost during it. Raises PreparationFailed."""
        retry_until = time.monotonic() + _PREPARATION_LIMIT_S
        plan = preparation_plan(self._configuration)
        while not stop.is_requested:
            status = self._run_preparation(self._child(plan), stop)
            if status == Exit.DONE or stop.is_requested:
                return
            if status != Exit.UNHEALTHY or time.monotonic() > retry_until:
                raise PreparationFailed(
                    f"The preparation ended with status {status}; {plan.log} ends:\n{log_tail(plan.log)}"
                )
            self._report("A server was lost during the preparation, which begins again")

    def _run_preparation(self, preparation: Child | ForkedChild, stop: StopRequest) -> int | None:
        """Run the preparation once, keeping the servers running; return its exit status."""
        preparation.spawn()
        while preparation.is_alive():
            if stop.is_requested:
                preparation.kill()
            self._keep_running(self._supervised_servers, stop)
            preparation.wait(_TICK_S)
        return preparation.exit_status()

    def _check_ready(self, on_ready: Callable[[], None]) -> None:
        if self._roles is not Roles.ALL or is_serving(self._configuration.url):
            self._is_ready = True
            self._write_state()
            self._report_step("Processes run")
            on_ready()
        elif time.monotonic() > self._slow_at:
            self._slow_at += _SLOW_START_S
            log = self._configuration.directory.logs / "web.log"
            self._report(f"{self._configuration.url} does not answer yet; see {log}")

    def _run_tick(self, stop: StopRequest) -> None:
        self._keep_running((*self._supervised_servers, *self._supervised_children), stop)
        self._end_stuck_workers()
        if time.monotonic() - self._logs_checked_at > _LOG_CHECK_PERIOD_S:
            self._logs_checked_at = time.monotonic()
            self._limit_logs()
        if not self._is_state_written:
            self._write_state()

    def _keep_running(self, members: Iterable[SupervisedProcess], stop: StopRequest) -> None:
        for supervised in members:
            self._report_exit(supervised)
            if supervised.is_due() and not stop.is_requested:
                self._restart(supervised)

    def _limit_logs(self) -> None:
        for log in self._configuration.directory.logs.glob("*.log"):
            try:
                limit_log(log)
            except OSError as error:
                logger.error("%s cannot be shortened: %s", log, error)

    def _report(self, line: str) -> None:
        with contextlib.suppress(OSError):  # the output may be a file on a full disk
            self._announce(line)

    def _report_step(self, what: str) -> None:
        """Report a step of the start of a whole stack, with its time."""
        now = time.monotonic()
        if self._roles is Roles.ALL:
            self._report(f"  {what:18} {now - self._step_began_at:5.1f} s")
        self._step_began_at = now

    def _report_exit(self, supervised: SupervisedProcess) -> None:
        pause_s = supervised.record_exit()
        if pause_s is not None:
            member = supervised.member
            log = self._configuration.directory.logs / f"{member.name}.log"
            reason = _exit_reason(member.exit_status())
            self._report(f"{member.name} ended ({reason}), next start in {pause_s:g} s; see {log}")

    def _restart(self, supervised: SupervisedProcess) -> None:
        try:
            supervised.spawn()
        except (StackError, OSError) as error:
            # A full disk or a missing folder must not end the rest of the stack; the backoff grows.
            logger.error("%s cannot be started: %s", supervised.member.name, error)
        self._write_state()

    def _end_stuck_workers(self) -> None:
        if self._watchdog is None:
            return
        stuck = self._watchdog.take_stuck()
        for supervised in self._supervised_children:
            if supervised.member.pid in stuck:
                self._report(f"{supervised.member.name} has work and does none; starting it again")
                supervised.member.kill()

    def _stop(self, stop: StopRequest) -> None:
        if self._watchdog is not None:
            self._watchdog.stop()
        children = [supervised.member for supervised in self._supervised_children]
        for child in children:
            child.ask_to_stop()
        deadline = time.monotonic() + _SOFT_STOP_LIMIT_S
        while any(child.is_alive() for child in children):
            if stop.is_urgent or time.monotonic() > deadline:
                break
            time.sleep(_TICK_S / 2)
        for child in children:
            child.kill()
        if self._fork_server is not None:
            self._fork_server.close()
        for server in reversed(self._servers):
            server.stop()
        directory = self._configuration.directory
        if self._servers and not any(server.is_alive() for server in self._servers):
            remove_runtime_directory(directory.path, self._configuration.runtime_dir)
        directory.stack_state.unlink(missing_ok=True)

    def _write_state(self) -> None:
        state = StackState(
            node=self._configuration.node_id,
            url=self._configuration.url if self._roles is Roles.ALL else "",
            started_at=self._started_at,
            is_ready=self._is_ready,
            supervisor=ProcessIdentity.own(),
            processes=tuple(self._named_processes()),
        )
        try:
            write_state(self._configuration.directory.stack_state, state)
        except OSError as error:  # a full disk must not end the stack
            if self._is_state_written:
                logger.error("the state of the stack cannot be written: %s", error)
            self._is_state_written = False
        else:
            self._is_state_written = True

    def _named_processes(self) -> list[NamedProcess]:
        named = []
        for supervised in (*self._supervised_servers, *self._supervised_children):
            pid = supervised.member.pid
            mark = None if pid is None else ProcessIdentity.of(pid)
            if mark is not None:
                name = supervised.member.name
                named += [NamedProcess(name=each, mark=mark) for each in _PARTS.get(name, (name,))]
        return named


def _exit_reason(status: int | None) -> str:
    if status is None:
        return "it was another process's"
    return f"killed by signal {-status}" if status < 0 else f"status {status}"
