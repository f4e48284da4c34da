"""Serializers of evaluation runs and comparisons."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from ingest.api.jobs.serializers import JobSerializer
from kebab.http.api.serializers import NullableTextField, ShortListField, StrictSerializer
from kebab.http.api.views import PageQuery
from kebab.people.workspace_settings.registry import shown_settings
from search.api.evaluation.serializers import JudgementSerializer, set_field
from search.evaluation.judged import Qrel
from search.evaluation.metrics import DEFAULT_MEASURES, MAX_MEASURES
from search.models import Run, RunState, RunTopic
from search.models.evaluation import GOLDEN, MAX_RUN_NAME_CHARS
from search.retrieval.types import Mode

_MAX_MEASURE_CHARS = 60
_EXCLUDED_BY_REPEAT = ("set", "settings", "measures")


@extend_schema_field(
    {
        "type": "object",
        "description": "`mode`, `k` (documents a ranking), `per_file_cap`, `rerank`, `cutoff`, and settings"
        " of the workspace that rank, like `fusion`; what is left out is the workspace's.",
        "properties": {"mode": {"type": "string", "enum": [mode.value for mode in Mode]}},
    }
)
class RunSettingsField(serializers.DictField):
    """Settings of a run; `RunSettings.of` validates them."""


class MeasuresField(ShortListField):
    """Names of measures."""

    def __init__(self, **options: Any) -> None:
        child = serializers.CharField(max_length=_MAX_MEASURE_CHARS)
        super().__init__(child=child, min_length=1, max_length=MAX_MEASURES, required=False, **options)


class NewRun(StrictSerializer):
    """The body of a request for a run."""

    set = set_field(required=False, help_text=f"Left out: {GOLDEN}.")
    name = serializers.CharField(max_length=MAX_RUN_NAME_CHARS, default="", allow_blank=True)
    settings = RunSettingsField(required=False)
    measures = MeasuresField(
        help_text=f"As ir-measures writes them; left out: {', '.join(DEFAULT_MEASURES)}. Kebab's own are"
        " always there."
    )
    repeat = serializers.UUIDField(
        required=False, help_text="A run whose topics, judgements, settings and measures are taken."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Validate and return the fields. Raises ValidationError."""
        extra = [name for name in _EXCLUDED_BY_REPEAT if name in attrs]
        if "repeat" in attrs and extra:
            raise serializers.ValidationError(
                {name: ["The run to repeat has it already; leave this out."] for name in extra}
            )
        return attrs


class RunsQuery(PageQuery):
    """The parameters of a workspace's runs."""

    set = set_field(required=False)
    state = serializers.ListField(child=serializers.ChoiceField(RunState.choices), required=False)


class ComparisonQuery(StrictSerializer):
    """The parameters of a comparison."""

    baseline = serializers.UUIDField(help_text="The run that this one is compared with.")
    measures = MeasuresField(help_text="Left out: every measure that both have.")


class RunSerializer(serializers.Serializer[Run]):
    """A run with its results."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    set = serializers.CharField(source="topic_set")
    state = serializers.ChoiceField(RunState.choices)
    job = serializers.UUIDField(
        source="job_id", allow_null=True, help_text="That carries it out; null: the command line did."
    )
    settings = serializers.SerializerMethodField(
        help_text="Of those that the caller may not change, a summary."
    )
    measures = serializers.ListField(child=serializers.CharField())
    figures = serializers.DictField(
        help_text="`measures` (means by name), `p50_ms`, `p95_ms`, `p99_ms`, `topics`, `judged`,"
        " `unanswerable`, `degraded`, `index_version`; empty until it has succeeded."
    )
    error = NullableTextField()
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)

    def get_settings(self, run: Run) -> dict[str, Any]:
        """Return the settings, by name."""
        return shown_settings(self.context["access"], run.settings)


class RecordedRunSerializer(RunSerializer):
    """A run with the record needed to repeat it."""

    record = serializers.SerializerMethodField()

    def get_record(self, run: Run) -> dict[str, Any]:
        """Return the record, its settings as `settings` has them."""
        return {**run.record, "run": self.get_settings(run)} if run.record else {}


class AskedRunSerializer(serializers.Serializer[Any]):
    """A requested run, and the job that executes it."""

    run = RunSerializer()
    job = JobSerializer()


class RankedDocumentSerializer(serializers.Serializer[Any]):
    """A document in a ranking, at the rank of its best hit."""

    path = serializers.CharField()
    source = serializers.CharField(allow_null=True)  # type: ignore[assignment]  # a declared field, not the base's attribute
    version = serializers.CharField()
    fragment = serializers.CharField(help_text="What its best hit's citation has behind its `#`.")
    score = serializers.FloatField()


class RunTopicSerializer(serializers.Serializer[RunTopic]):
    """A topic of a run with its results, which are null until the topic has run."""

    topic_id = serializers.CharField()
    query = serializers.CharField(source="text")
    filters = serializers.DictField()
    is_unanswerable = serializers.BooleanField()
    judgements = serializers.SerializerMethodField()
    ranking = serializers.SerializerMethodField(help_text="Best first.")
    measures = serializers.DictField(child=serializers.FloatField())
    ms = serializers.FloatField(allow_null=True)
    is_empty = serializers.BooleanField(allow_null=True)
    is_refused = serializers.BooleanField(allow_null=True)

    @extend_schema_field(JudgementSerializer(many=True))
    def get_judgements(self, topic: RunTopic) -> list[Any]:
        """Return the topic's judgements."""
        names = ("source", "version", "path", "fragment", "grade")
        qrels = [Qrel(**dict(zip(names, each, strict=True))) for each in topic.judgements]
        return list(JudgementSerializer(qrels, many=True).data)

    @extend_schema_field(RankedDocumentSerializer(many=True, allow_null=True))
    def get_ranking(self, topic: RunTopic) -> list[dict[str, Any]] | None:
        """Return the ranked documents."""
        names = ("source", "version", "path", "fragment", "score")
        return topic.ranking and [dict(zip(names, each, strict=True)) for each in topic.ranking]
