"""The sieges, each on a stack and with clients of its own."""

import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.drills.crash.options import Options
from tests.drills.crash.siege import clocks
from tests.drills.crash.siege.cuts import CUTS, Cuts
from tests.drills.crash.siege.siege import Siege
from tests.drills.crash.siege.stacks import own_servers, servers_behind_proxies
from tests.drills.crash.siege.strikes import SERVER_FAULTS, Strikes, plan_of
from tests.drills.crash.verdict import Verdict
from tests.support.stack import GaveUp


class Sieges:
    """Player of the chosen sieges; `figures` has the results of each."""

    def __init__(self, options: Options, verdict: Verdict, folder: Path) -> None:
        self._options = options
        self._verdict = verdict
        self._folder = folder
        self.figures: list[dict[str, Any]] = []

    def play(self) -> None:
        """Play the chosen sieges, one after the other."""
        scenes = {
            "siege": self._siege,
            "servers": self._servers,
            "cuts": self._cuts,
            "clocks": self._clocks,
        }
        for name in (each for each in scenes if each in self._options.scenes):
            try:
                scenes[name]()
            except GaveUp as error:
                self._verdict.check(f"the scene {name} comes to its end", [str(error)])

    def _siege(self) -> None:
        kills = self._options.siege_kills
        self._verdict.say(f"\n{kills} processes are killed while clients write, delete and search")
        with own_servers(self._options) as stack:
            siege = self._new_siege(stack, "siege")
            self._play(siege, Strikes(stack, siege.outages, self._rng("siege")), plan_of(self._seed, kills))

    def _servers(self) -> None:
        self._verdict.say("\nServers are emptied, restarted and crash while clients work")
        with own_servers(self._options) as stack:
            siege = self._new_siege(stack, "servers")
            strikes = Strikes(stack, siege.outages, self._rng("servers"))
            self._play(siege, strikes, [*SERVER_FAULTS, "postgres backend"])

    def _cuts(self) -> None:
        self._verdict.say("\nConnections to the servers are slow, cut, refused and swallowed")
        with servers_behind_proxies(self._options) as behind:
            siege = self._new_siege(behind.stack, "cuts")
            self._play(siege, Cuts(behind, siege.outages, self._rng("cuts")), CUTS)

    def _clocks(self) -> None:
        library = clocks.library()
        if library is None:
            self._verdict.say("\nThe clock can't jump: libfaketime is missing (Debian's package faketime)")
            return
        self._verdict.say("\nThe node's clock jumps by an hour, its servers' does not")
        jumping = clocks.Clocks(self._folder / "offset", self._rng("clocks"))
        with servers_behind_proxies(self._options, **jumping.environment(library)) as behind:
            striker = clocks.HintLoss(jumping, behind.stack, behind.servers)
            self._play(self._new_siege(behind.stack, "clocks"), striker, list(clocks.JUMPS))

    def _new_siege(self, stack: Any, scene: str) -> Siege:
        return Siege(stack, self._folder, self._verdict, scene=scene, seed=self._seed)

    def _play(self, siege: Siege, striker: Any, plan: Any) -> None:
        self.figures.append(siege.play(striker, plan, limit_s=self._options.limit_s))

    def _rng(self, scene: str) -> random.Random:
        return random.Random(f"{scene} {self._seed}")

    @property
    def _seed(self) -> int:
        return self._options.seed


def play_sieges(options: Options, verdict: Verdict) -> list[dict[str, Any]]:
    """Play the sieges among the chosen scenes, and return their figures."""
    with TemporaryDirectory(prefix="kebab-drill-") as folder:
        sieges = Sieges(options, verdict, Path(folder))
        sieges.play()
        return sieges.figures
