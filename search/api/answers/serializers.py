"""Serializers of questions and of lists of answers."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from kebab.http.api.pagination import PageQuery
from kebab.http.api.serializers import StrictSerializer, TypedTextField
from kebab.identity.models import Workspace
from search.answers import DEFAULT_HITS, MAX_HITS, MAX_QUESTION_CHARS, AnswerRequest
from search.api.query import awaited_seq, make_query
from search.api.query_fields import AwaitedSeqField, EnumeratedField, FilterFields, RecencyField, drop_nulls
from search.models import KeptAnswer
from search.retrieval.types import Mode


class AskBody(StrictSerializer):
    """A question."""

    question = TypedTextField(max_length=MAX_QUESTION_CHARS, help_text="In plain words.")
    conversation_id = serializers.UUIDField(
        required=False, allow_null=True, help_text="An earlier answer's: the question goes on with it."
    )
    filters = FilterFields(required=False, allow_null=True)
    mode = EnumeratedField(Mode, required=False, allow_null=True)
    k = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_HITS, help_text="The most hits to answer from."
    )
    recency = RecencyField(required=False, allow_null=True)
    min_seq = AwaitedSeqField(required=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return the fields that are not null."""
        return drop_nulls(attrs)


class AnswersQuery(PageQuery):
    """The parameters of the list of answers."""

    conversation_id = serializers.UUIDField(required=False, help_text="Of this conversation alone.")


class AnswerSummarySerializer(serializers.ModelSerializer[KeptAnswer]):
    """An answer in a list."""

    answer_id = serializers.UUIDField(source="id")
    reason = serializers.SerializerMethodField(help_text="Null where it is grounded or extractive.")

    class Meta:
        model = KeptAnswer
        fields = (
            "answer_id",
            "conversation_id",
            "question",
            "state",
            "reason",
            "model",
            "asked_by",
            "created_at",
        )

    def get_reason(self, row: KeptAnswer) -> str | None:
        """Return the reason of a refused, ungrounded or failed answer."""
        return row.reason or None


def answer_request(workspace: Workspace, given: Mapping[str, Any]) -> AnswerRequest:
    """Build the request from a body's clean fields. Raises InvalidQuery, InvalidFilter with the field."""
    options = {name: given[name] for name in ("mode", "recency") if name in given}
    filters = given.get("filters", {})
    query = make_query(workspace, {"q": given["question"], "filters": filters, **options}, filters)
    return AnswerRequest(
        question=given["question"],
        filters=query.filters,
        conversation_id=given.get("conversation_id"),
        k=given.get("k", DEFAULT_HITS),
        mode=query.mode,
        recency=query.recency,
        min_seq=awaited_seq(workspace, given),
    )
