"""Course of the drill on one stack."""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from django.db import connection

from tests.drills.crash import invariants
from tests.drills.crash.corpus import Corpus
from tests.drills.crash.embedder_change import EmbedderChange
from tests.drills.crash.faults import FAULTS, FULL_DISK, Faults
from tests.drills.crash.hint import lose_a_hint
from tests.drills.crash.mirror_lag import search_behind
from tests.drills.crash.mirror_rebuild import search_while_rebuilding
from tests.drills.crash.model import HeldModel
from tests.drills.crash.options import Options
from tests.drills.crash.outage import outlive_redis
from tests.drills.crash.stall import stall_a_worker
from tests.drills.crash.storm import Storm
from tests.drills.crash.tenant import Tenant
from tests.drills.crash.turns import FOLDERS, take_turns
from tests.drills.crash.verdict import Verdict
from tests.drills.crash.volumes import Disk
from tests.drills.crash.watch import Watch
from tests.support.stack import GaveUp, Stack

# Enough files to keep a worker busy for some seconds.
_FAULTED_DOCUMENTS = 600
_TURNS_DOCUMENTS = 2_000
_REBUILT_DOCUMENTS = 400


def run_drill(
    stack: Stack, options: Options, model: HeldModel, disks: Mapping[str, Disk], verdict: Verdict
) -> None:
    """Start the stack, play the scenes of one stack, check everything, and stop the stack."""
    began_at = time.monotonic()
    verdict.say(f"data directory {stack.data_dir}")
    try:
        stack.up()
        with TemporaryDirectory(prefix="kebab-drill-") as folder, Watch(stack) as watch:
            _Drill(stack, watch, options, verdict, Path(folder), disks, model).play()
            verdict.check("no process is left over from a killed one", _strays(stack))
    except GaveUp as error:
        verdict.check("the drill ends", [str(error)])
    finally:
        connection.close_pool()
        stack.stop()
    verdict.check("no process outlives the stack", _strays(stack))
    verdict.say(f"  {time.monotonic() - began_at:.0f} s in all")


class _Drill:
    """The scenes, each in workspaces and folders of its own."""

    def __init__(
        self,
        stack: Stack,
        watch: Watch,
        options: Options,
        verdict: Verdict,
        folder: Path,
        disks: Mapping[str, Disk],
        model: HeldModel,
    ) -> None:
        self._stack = stack
        self._watch = watch
        self._options = options
        self._verdict = verdict
        self._folder = folder
        self._disks = disks
        self._model = model

    def play(self) -> None:
        """Play the chosen scenes. Raises GaveUp."""
        scenes = {
            "storm": self._storm,
            "hint": self._hint,
            "stall": self._stall,
            "lagging": self._mirror_lag,
            "rebuild": self._rebuild,
            "outage": self._outage,
            "turns": self._turns,
            "faults": lambda: self._play_faults("faults", FAULTS),
            "disks": lambda: self._play_faults("disks", [FULL_DISK + name for name in self._disks]),
            "reembed": self._change_embedder,
        }
        for name in self._options.scenes:
            if name in scenes:
                scenes[name]()
        self._verdict.check("no progress went back, no job changed after its end", self._watch.violations)
        self._verdict.check("kebab up ended only when it was killed", self._unexpected_ends())

    def _storm(self) -> None:
        options, say = self._options, self._verdict.say
        say(f"\nIngesting {options.documents} documents while {options.kills} processes are killed")
        corpus = self._corpus("storm", documents=options.documents, folders=4)
        storm = Storm(self._stack, self._watch, corpus, options, say)
        disturbed = Tenant(self._stack.url, "storm", corpus.folders)
        refusals = storm.ingest(disturbed)
        self._verdict.print_kills(self._watch.kills)
        corpus_id = disturbed.workspace.corpus_id
        undisturbed = Tenant(self._stack.url, "undisturbed", corpus.folders, corpus_id=corpus_id)
        storm.ingest_undisturbed(undisturbed)
        self._verdict.check("every upload was accepted in the end, none refused", refusals)
        for name, found in _checks(corpus, disturbed, undisturbed):
            self._verdict.check(name, found)

    def _hint(self) -> None:
        self._verdict.say("\nThe only hint of a job is lost")
        corpus = self._corpus("hint", documents=5)
        # Time for a worker's restart, including back-off after earlier kills, and a few periods of the sweep.
        limit_s = 30.0 if "sweep" in self._options.without else 120.0
        self._verdict.check("the sweep finds the job", lose_a_hint(self._stack, corpus, limit_s))

    def _stall(self) -> None:
        self._verdict.say("\nA worker pauses for longer than its lease, and resumes")
        corpus = self._corpus("stall", documents=0)
        self._verdict.check("it writes nothing any more", stall_a_worker(self._stack, corpus))

    def _mirror_lag(self) -> None:
        self._verdict.say("\nA mirror lags while documents are replaced and deleted")
        self._verdict.check("searches show what Postgres has", search_behind(self._stack))

    def _rebuild(self) -> None:
        self._verdict.say("\nA mirror is rebuilt while it is searched")
        corpus = self._corpus("rebuild", documents=_REBUILT_DOCUMENTS)
        found = search_while_rebuilding(self._stack, corpus)
        self._verdict.check("every search finds what it did before", found)

    def _outage(self) -> None:
        self._verdict.say("\nRedis is away while work ends")
        corpus = self._corpus("outage", documents=0, folders=2)
        self._verdict.check("the workers reconnect to Redis", outlive_redis(self._stack, corpus))

    def _turns(self) -> None:
        self._verdict.say("\nOne document is requested after thousands of another workspace's")
        corpus = self._corpus("turns", documents=_TURNS_DOCUMENTS, folders=FOLDERS)
        self._verdict.check("it takes its turn", take_turns(self._stack, corpus))

    def _play_faults(self, name: str, faults: Sequence[str]) -> None:
        self._verdict.say("\nA fault comes in the middle of a sync")
        corpus = self._corpus(name, documents=_FAULTED_DOCUMENTS)
        scene = Faults(self._stack, corpus, self._disks, name)
        scene.ingest()
        for fault in faults:
            self._verdict.check(f"all is right after: {fault}", scene.play(fault))
            self._verdict.say(f"  {self._watch.now_s:6.1f} s")
        self._verdict.check("the mirrors equal Postgres by checksum", invariants.mirrors_equal_postgres())

    def _change_embedder(self) -> None:
        chunks = self._options.chunks
        self._verdict.say(f"\nThe embedder of {chunks} chunks is changed, its worker killed half-way")
        scene = EmbedderChange(self._stack, self._watch, self._model, self._folder / "reembed", chunks)
        for name, found in scene.play():
            self._verdict.check(name, found)
            self._verdict.say(f"  {self._watch.now_s:6.1f} s")

    def _unexpected_ends(self) -> Iterator[str]:
        killed = sum(kill.victim == "supervisor" for kill in self._watch.kills)
        if self._watch.restarts != killed:
            yield f"it was killed {killed} times, and had to be started again {self._watch.restarts} times"

    def _corpus(self, name: str, *, documents: int, folders: int = 1) -> Corpus:
        corpus = Corpus(self._folder / name, seed=self._options.seed, documents=documents, folders=folders)
        corpus.write()
        return corpus


def _checks(corpus: Corpus, disturbed: Tenant, undisturbed: Tenant) -> Iterator[tuple[str, Iterator[str]]]:
    uploads = {("uploads", path): text for path, text in corpus.uploads.items()}
    files = {**disturbed.files_by_source(corpus.files), **uploads}
    yield "every document is there once", invariants.documents_equal_what_was_given(disturbed, files)
    yield "all equals an undisturbed run", invariants.corpora_are_equal(disturbed, undisturbed)
    yield "all of it is found", invariants.all_is_found(disturbed, files)
    yield "every chunk has its vector", invariants.every_chunk_has_its_vector(disturbed)
    yield "every job ended once, its report adds up", invariants.jobs_ended_once(disturbed)
    yield "the change log has no holes", invariants.log_is_without_holes(disturbed)
    yield "the mirrors equal Postgres by checksum", invariants.mirrors_equal_postgres()


def _strays(stack: Stack) -> Iterator[str]:
    strays = stack.strays()
    if strays:
        yield f"processes {sorted(strays)}"
