"""The search rules of a workspace, one of its settings: their form, and changes of single rules."""

import json
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final

from blake3 import blake3
from django.core.exceptions import ValidationError as DjangoValidationError
from django.core.validators import URLValidator
from django.utils import timezone
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from kebab.database.querysets import first_or_not_found
from kebab.errors import Conflict, InvalidRequest, NotFound
from kebab.http.api.problems import problem_of
from kebab.http.api.serializers import HexIdField, ShortListField, StrictSerializer
from kebab.identity.caller import Access
from kebab.identity.models import Workspace
from kebab.people.workspaces import change_workspace
from search.access.restrictions import visible_documents
from search.models import Source
from search.models.document import Trust
from search.retrieval.query.rules import QueryMatch, RuleKind
from search.retrieval.text.unicode_scripts import words_of
from search.settings.search_settings import RULES

MAX_RULES: Final = 1_000
_MAX_PHRASES = 50
_MAX_PHRASE_CHARS = 200
_MAX_DOCUMENTS = 10

#: A rule as it is stored, and as the API has it.
Rule = Mapping[str, Any]
# The fields of each kind, beside those that all have.
_FIELDS: Mapping[RuleKind, tuple[str, ...]] = {
    RuleKind.SYNONYMS: ("words", "means"),
    RuleKind.STOP_WORDS: ("words",),
    RuleKind.PIN: ("queries", "match", "documents"),
    RuleKind.ANSWER: ("queries", "match", "title", "text", "url"),
    RuleKind.BOOST: ("field", "value", "factor"),
}
_COMMON = ("id", "kind", "is_active", "note", "created_by", "created_at")
_OPTIONAL = {"means", "match", "text", "url"}


class _PhraseField(serializers.CharField):
    """A word or phrase to search for."""

    def __init__(self) -> None:
        super().__init__(max_length=_MAX_PHRASE_CHARS)

    def to_internal_value(self, data: Any) -> str:
        """Return the text. Raises ValidationError for one without a letter or digit."""
        text = super().to_internal_value(data)
        if not words_of(text):
            raise ValidationError(f"{text!r} contains no letter or digit.")
        return text


class _PhrasesField(ShortListField):
    """Words or phrases."""

    def __init__(self, **options: Any) -> None:
        super().__init__(child=_PhraseField(), max_length=_MAX_PHRASES, required=False, **options)


class RuleSerializer(StrictSerializer):
    """A search rule. Each kind has fields of its own."""

    id = serializers.RegexField("^[0-9a-f]{32}$", required=False, help_text="Chosen by the server if absent.")
    kind = serializers.ChoiceField([kind.value for kind in RuleKind])
    is_active = serializers.BooleanField(default=True)
    note = serializers.CharField(max_length=500, allow_blank=True, default="")
    created_by = serializers.CharField(max_length=320, required=False, help_text="Set by the server.")
    created_at = serializers.CharField(max_length=40, required=False, help_text="Set by the server.")
    words = _PhrasesField(
        allow_empty=False,
        help_text="Of `synonyms`: words or phrases that mean the same; of `stop_words`: words to ignore.",
    )
    means = _PhrasesField(
        help_text="Of `synonyms`: what `words` also finds, but not the other way round; absent: both ways."
    )
    queries = _PhrasesField(help_text="Of `pin` and `answer`: the queries that they are for.")
    match = serializers.ChoiceField(
        [each.value for each in QueryMatch],
        required=False,
        help_text="Whether a query must be one of `queries`, the default, or may contain one.",
    )
    documents = ShortListField(
        child=HexIdField(),
        min_length=1,
        max_length=_MAX_DOCUMENTS,
        required=False,
        help_text="Of `pin`: the documents that come first, in this order.",
    )
    title = serializers.CharField(max_length=200, required=False, help_text="Of `answer`.")
    text = serializers.CharField(
        max_length=2_000, allow_blank=True, required=False, help_text="Of `answer`, plain text."
    )
    url = serializers.CharField(
        max_length=2_000, allow_blank=True, required=False, help_text="Of `answer`: where more is said."
    )
    field = serializers.ChoiceField(
        ["source", "type", "trust"], required=False, help_text="Of `boost`: what documents are told by."
    )
    value = serializers.CharField(
        max_length=100,
        required=False,
        help_text="Of `boost`: the key of a source, the end of file names without its dot, or a trust level.",
    )
    factor = serializers.FloatField(
        min_value=0.1, max_value=10, required=False, help_text="Of `boost`: what scores are multiplied by."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of the rule's kind, with defaults. Raises ValidationError."""
        kind = RuleKind(attrs["kind"])
        own = _FIELDS[kind]
        others = sorted(attrs.keys() - {*own, *_COMMON})
        missing = [name for name in own if name not in attrs and name not in _OPTIONAL]
        wrong = dict.fromkeys(others, f"Rules of the kind {kind} don't have this field.")
        wrong |= dict.fromkeys(missing, f"A rule of the kind {kind} needs it.")
        if wrong:
            raise ValidationError(wrong)
        if kind is RuleKind.SYNONYMS and len(attrs["words"]) + len(attrs.get("means", ())) < 2:
            raise ValidationError({"words": "Name two words or phrases at least, or what this one means."})
        if kind is RuleKind.BOOST and attrs["field"] == "trust" and attrs["value"] not in Trust.values:
            raise ValidationError({"value": f"Choose one of {', '.join(Trust.values)}."})
        if attrs.get("url"):
            _check_url(attrs["url"])
        defaults = {"means": [], "match": QueryMatch.EXACT.value, "text": "", "url": ""}
        filled = {**{name: value for name, value in defaults.items() if name in own}, **attrs}
        if kind is RuleKind.PIN:
            filled["documents"] = [each.hex for each in filled["documents"]]
        return filled


def _check_url(url: str) -> None:
    try:
        URLValidator(schemes=["http", "https", "mailto"])(url)
    except DjangoValidationError as error:
        raise ValidationError({"url": f"{url!r} is not the address of a web page."}) from error


def validate_rules(value: Any) -> dict[str, Any]:
    """Return the setting for a list of rules, or for such a setting: the rules, with a version of them.

    Raises ValueError, which names the rule and the field.
    """
    listed = value.get("entries") if isinstance(value, dict) else value
    if not isinstance(listed, list) or len(listed) > MAX_RULES:
        raise ValueError(f"Write a list of {MAX_RULES} rules at most.")
    form = RuleSerializer(data=listed, many=True)
    try:
        form.is_valid(raise_exception=True)
    except ValidationError as error:
        problem = problem_of(error)
        raise ValueError(str(error) if problem is None else problem.detail) from error
    entries = [{"id": uuid.uuid4().hex, **entry} for entry in form.validated_data]
    ids = [entry["id"] for entry in entries]
    twice = next((id_ for id_ in ids if ids.count(id_) > 1), None) if len({*ids}) < len(ids) else None
    if twice is not None:
        raise ValueError(f"Two rules have the id {twice}; leave out one of them.")
    stored = json.dumps(entries, sort_keys=True, ensure_ascii=False)
    return {"version": blake3(stored.encode()).hexdigest(length=16), "entries": entries}


def summarise_rules(value: Any) -> Any:
    """Return what the audit log keeps of the setting."""
    return value and {"version": value["version"], "rules": len(value["entries"])}


def list_rules(workspace: Workspace) -> tuple[str, list[Rule]]:
    """Return the version of the workspace's rules, '' for none, and the rules."""
    stored = workspace.settings.get(RULES)
    return ("", []) if stored is None else (stored["version"], stored["entries"])


def replace_rules(access: Access, rules: list[Rule], *, version: str | None = None, force: bool) -> Workspace:
    """Replace all rules; if `version` is given, only while it is theirs.

    The golden queries are asked before. Raises Conflict, InvalidRequest, GoldenQueriesWorse, GateOutOfTime.
    """

    def change(present: list[Rule]) -> list[Rule]:
        known = {rule["id"]: rule for rule in present}
        return [_sign(rule, access, known.get(rule.get("id", ""))) for rule in rules]

    return _change_rules(access, change, version=version, force=force)


def add_rule(access: Access, rule: Rule, *, force: bool) -> Rule:
    """Add a rule, and return it. Raises what `replace_rules` raises."""
    added = _sign({**rule, "id": uuid.uuid4().hex}, access, None)
    _change_rules(access, lambda present: [*present, added], force=force)
    return added


def change_rule(access: Access, rule_id: str, changes: Rule, *, force: bool) -> Rule:
    """Change fields of a rule, and return it. Raises NotFound, and what `replace_rules` raises."""

    def change(present: list[Rule]) -> list[Rule]:
        _find(present, rule_id)
        return [{**rule, **changes} if rule["id"] == rule_id else rule for rule in present]

    changed = _change_rules(access, change, force=force)
    return _find(list_rules(changed)[1], rule_id)


def delete_rule(access: Access, rule_id: str, *, force: bool) -> Rule:
    """Delete a rule, and return it. Raises NotFound, and what `replace_rules` raises."""
    deleted = _find(list_rules(access.workspace)[1], rule_id)

    def change(present: list[Rule]) -> list[Rule]:
        return [rule for rule in present if rule["id"] != rule_id]

    _change_rules(access, change, force=force)
    return deleted


def _find(rules: list[Rule], rule_id: str) -> Rule:
    found = next((rule for rule in rules if rule["id"] == rule_id), None)
    if found is None:
        raise NotFound
    return found


def _sign(rule: Rule, access: Access, before: Rule | None) -> Rule:
    """Return the rule with who created it and when."""
    signed = {"created_by": access.actor, "created_at": timezone.now().isoformat(timespec="seconds")}
    if before is not None:
        signed = {name: before[name] for name in signed if name in before}
    return {**rule, **signed}


def _change_rules(
    access: Access, change: Callable[[list[Rule]], list[Rule]], *, force: bool, version: str | None = None
) -> Workspace:
    fresh = first_or_not_found(Workspace.objects.filter(pk=access.workspace.pk))
    present, rules = list_rules(fresh)
    if version is not None and version != present:
        raise Conflict(f"The rules are of the version {present or 'none'} by now; read them, and try again.")
    changed = change(list(rules))
    _check_targets(access, _targets(changed) - _targets(rules))
    try:
        setting = validate_rules(changed) if changed else None
    except ValueError as error:
        raise InvalidRequest(str(error)) from error
    return change_workspace(access, settings={RULES: setting}, force=force, present=fresh)


def _targets(rules: list[Rule]) -> set[tuple[str, str]]:
    """Return the sources and documents that rules name, each with the field that names it."""
    boosted = {("value", rule["value"]) for rule in rules if rule.get("field") == "source"}
    return boosted | {("documents", id_) for rule in rules for id_ in rule.get("documents", ())}


def _check_targets(access: Access, targets: set[tuple[str, str]]) -> None:
    """Raise ValidationError, which names the values, for sources and documents that don't exist."""
    keys, ids = ({value for field, value in targets if field == name} for name in ("value", "documents"))
    documents = visible_documents(access.workspace, access.reader).filter(doc_id__in=ids) if ids else ()
    sources = Source.objects.in_workspace(access.workspace).filter(key__in=keys) if keys else ()
    missing = {
        "value": keys - {source.key for source in sources},
        "documents": ids - {document.doc_id.hex for document in documents},
    }
    wrong = {name: f"There is no {', '.join(sorted(values))}." for name, values in missing.items() if values}
    if wrong:
        raise ValidationError(wrong)
