"""`/workspaces/{ws}/rules`: synonyms, stop words, pinned documents, promoted answers and boosts."""

import uuid
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kebab.http.api.idempotency import idempotent
from kebab.http.api.serializers import StrictSerializer, strict_body
from kebab.http.api.views import WorkspaceView
from search.settings.rules import (
    MAX_RULES,
    RuleSerializer,
    add_rule,
    change_rule,
    delete_rule,
    list_rules,
    replace_rules,
)
from search.settings.search_settings import MANAGE_RULES


class ForceQuery(StrictSerializer):
    """The parameters of a change of rules."""

    force = serializers.BooleanField(
        default=False, help_text="Whether rules are changed even where golden queries get worse."
    )


class RuleList(StrictSerializer):
    """All rules of a workspace."""

    version = serializers.CharField(
        max_length=32,
        allow_blank=True,
        required=False,
        help_text="Of the rules. A request that names another one than theirs is refused.",
    )
    rules = serializers.ListField(child=RuleSerializer(), max_length=MAX_RULES)


class RuleChange(StrictSerializer):
    """The body that changes a rule."""

    is_active = serializers.BooleanField(required=False)
    note = serializers.CharField(max_length=500, allow_blank=True, required=False)


class RulesView(WorkspaceView):
    """The rules of a workspace."""

    required: ClassVar = {"GET": MANAGE_RULES, "POST": MANAGE_RULES, "PUT": MANAGE_RULES}
    queries: ClassVar = {"POST": ForceQuery, "PUT": ForceQuery}

    @extend_schema(responses=RuleList)
    def get(self, request: Request, ws: str) -> Response:
        """Return the rules, with their version."""
        return _respond(list_rules(self.workspace))

    @extend_schema(request=RuleSerializer, responses={201: RuleSerializer})
    @idempotent(recheck=None)
    def post(self, request: Request, ws: str) -> Response:
        """Add a rule.

        409 `quality_gate` if the golden queries get worse, unless `force` is set.
        """
        rule = add_rule(self.access, strict_body(request, RuleSerializer), force=self.query["force"])
        return Response(rule, status=201)

    @extend_schema(request=RuleList, responses=RuleList)
    def put(self, request: Request, ws: str) -> Response:
        """Replace all rules.

        409 `quality_gate` if the golden queries get worse, unless `force` is set.
        """
        given = strict_body(request, RuleList)
        changed = replace_rules(
            self.access, given["rules"], version=given.get("version"), force=self.query["force"]
        )
        return _respond(list_rules(changed))


class OneRuleView(WorkspaceView):
    """One rule of a workspace."""

    required: ClassVar = {"PATCH": MANAGE_RULES, "DELETE": MANAGE_RULES}
    queries: ClassVar = {"PATCH": ForceQuery, "DELETE": ForceQuery}

    @extend_schema(request=RuleChange, responses=RuleSerializer)
    def patch(self, request: Request, ws: str, rule_id: uuid.UUID) -> Response:
        """Switch a rule on or off, or change its note.

        409 `quality_gate` if the golden queries get worse, unless `force` is set.
        """
        changes = strict_body(request, RuleChange)
        return Response(change_rule(self.access, rule_id.hex, changes, force=self.query["force"]))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, ws: str, rule_id: uuid.UUID) -> Response:
        """Delete a rule.

        409 `quality_gate` if the golden queries get worse, unless `force` is set.
        """
        delete_rule(self.access, rule_id.hex, force=self.query["force"])
        return Response(status=204)


def _respond(listed: tuple[str, list[Any]]) -> Response:
    version, rules = listed
    return Response({"version": version, "rules": rules})
