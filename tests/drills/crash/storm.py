"""Scene: documents are ingested while random processes are killed, and edited half-way through."""

import random
from collections.abc import Callable

from tests.drills.crash.corpus import Corpus
from tests.drills.crash.options import Options
from tests.drills.crash.tenant import Tenant
from tests.drills.crash.uploads import Uploader
from tests.drills.crash.victims import choose_victims, kill
from tests.drills.crash.watch import Watch
from tests.support.patience import patiently
from tests.support.stack import Stack, eventually

# The kills happen between these shares of the ingestion.
_FROM, _TO = 0.02, 0.9
_CATCH_UP_LIMIT_S = 600.0

Say = Callable[[str], None]


class Storm:
    """The ingestion of one corpus, with the kills of `options`."""

    def __init__(self, stack: Stack, watch: Watch, corpus: Corpus, options: Options, say: Say) -> None:
        self._stack = stack
        self._watch = watch
        self._corpus = corpus
        self._options = options
        self._say = say
        self._rng = random.Random(f"storm {options.seed}")
        self._total = len(corpus.files) + len(corpus.uploads)

    def ingest(self, tenant: Tenant) -> list[str]:
        """Ingest while processes are killed, wait until everything is done, and return rejected uploads.

        Raises:
            GaveUp: Work was lost.
        """
        with Uploader(self._stack, tenant.workspace.slug, tenant.token, pace=self._share_done) as uploader:
            uploader.enqueue(self._corpus.uploads)
            tenant.is_searchable()
            tenant.request_syncs()
            for number, (moment, victim) in enumerate(self._plan()):
                self._await_claim(lambda moment=moment: self._share_done() >= moment)
                self._kill(victim)
                if self._options.has_edits and number == self._options.kills // 2:
                    self._edit(tenant, uploader)
            self._await_completion(tenant, uploader)
        eventually(self._all_are_back, "every killed process is back")
        self._say(f"  {self._watch.now_s:6.1f} s  {self._watch.items_done:5} items done, all caught up")
        return uploader.violations

    def ingest_undisturbed(self, tenant: Tenant) -> None:
        """Ingest the corpus in its present state. Raises GaveUp."""
        self._watch.rest()
        with Uploader(self._stack, tenant.workspace.slug, tenant.token) as uploader:
            uploader.enqueue(self._corpus.uploads)
            tenant.request_syncs()
            self._await_completion(tenant, uploader)

    def _plan(self) -> list[tuple[float, str]]:
        moments = sorted(self._rng.uniform(_FROM, _TO) for _ in range(self._options.kills))
        return list(zip(moments, choose_victims(self._rng, self._options.kills), strict=True))

    def _share_done(self) -> float:
        return self._watch.items_done / self._total

    def _kill(self, victim: str) -> None:
        pid = kill(self._stack, victim, self._rng)
        self._watch.note_kill(victim, pid)
        self._say(
            f"  {self._watch.now_s:6.1f} s  {self._watch.items_done:5} items done  {victim} killed ({pid})"
        )

    def _edit(self, tenant: Tenant, uploader: Uploader) -> None:
        edits, uploads = self._corpus.edit(), self._corpus.edit_uploads()
        uploader.enqueue(uploads)
        tenant.request_syncs()
        self._say(f"  {self._watch.now_s:6.1f} s  files: {edits}; {len(uploads)} uploads replaced")

    def _await_completion(self, tenant: Tenant, uploader: Uploader) -> None:
        self._await_claim(lambda: uploader.is_done)
        self._await_claim(lambda: not patiently(tenant.has_open_jobs))
        eventually(lambda: patiently(tenant.is_searchable), "all that was ingested is searchable")

    def _await_claim(self, claim: Callable[[], bool]) -> None:
        def look() -> bool:
            self._watch.require_life(self._options.patience_s)
            return claim()

        eventually(look, "the ingestion comes to its end", _CATCH_UP_LIMIT_S)

    def _all_are_back(self) -> bool:
        return all(each.back_after_s or _is_unplaced(each.victim) for each in self._watch.kills)


def _is_unplaced(victim: str) -> bool:
    return " " in victim or victim == "parser"
