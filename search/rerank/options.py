"""Settings of the reranker and their validation."""

from dataclasses import dataclass
from typing import Final

from django.conf import settings

from search.endpoints.configured_endpoint import ConfiguredEndpoint, SettingProblem
from search.endpoints.settings import rerank_endpoint
from search.rerank.payloads import FORMATS

NONE: Final = "none"
LOCAL: Final = "local"
KINDS: Final = (NONE, LOCAL, *FORMATS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankOptions:
    """The settings of the reranker, unvalidated."""

    kind: str
    #: The endpoint; of a local model only the time limit counts, and its folder as the model.
    endpoint: ConfiguredEndpoint

    @classmethod
    def from_settings(cls) -> "RerankOptions":
        """Return the settings, valid or not."""
        kind = settings.KEBAB_RERANKER
        needs_model = kind in FORMATS and FORMATS[kind].needs_model
        return cls(kind=kind, endpoint=rerank_endpoint(needs_model=needs_model))

    def problems(self) -> list[SettingProblem]:
        """Return the problems of the settings that can be detected without a model or a network."""
        if self.kind not in KINDS:
            remedy = f"Give one of {', '.join(KINDS)}."
            return [SettingProblem("KEBAB_RERANKER", f"is {self.kind!r}", remedy)]
        if self.kind == NONE:
            return []
        return self._local_problems() if self.kind == LOCAL else self.endpoint.problems()

    def _local_problems(self) -> list[SettingProblem]:
        limit_problem = self.endpoint.limit_problem()
        problems = [] if limit_problem is None else [limit_problem]
        if not self.endpoint.model:
            remedy = "Set it to the folder of a cross-encoder."
            fault = "is not set, and KEBAB_RERANKER is local"
            problems.append(SettingProblem("KEBAB_RERANK_MODEL", fault, remedy))
        return problems
