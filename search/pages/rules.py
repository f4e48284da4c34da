"""Pages of the search rules: a list of each kind, with the form that adds one."""

import re
import uuid
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.formats import localize_input
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kebab.errors import InvalidRequest, Problem
from kebab.identity.caller import Need
from kebab.identity.models import Workspace
from kebab.people.pages.form_page import FormPage, PeopleAction, add_problem_to_form
from search.access.restrictions import find_by_name, visible_documents
from search.models import Document, Source, Trust
from search.retrieval.query.rules import QueryMatch, RuleKind
from search.settings.rules import Rule, add_rule, change_rule, delete_rule, list_rules
from search.settings.search_settings import MANAGE_RULES

_PLAIN = forms.TextInput(attrs={"autocomplete": "off"})


class _ListField(forms.CharField):
    """Words or phrases, separated by commas or line ends."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("widget", _PLAIN)
        super().__init__(max_length=5_000, **options)

    def clean(self, value: Any) -> list[str]:
        """Return the words and phrases. Raises ValidationError."""
        return [part.strip() for part in re.split(r"[,\n]", super().clean(value)) if part.strip()]


class RuleForm(forms.Form):
    """Base of the forms of rules."""

    note = forms.CharField(label=gettext_lazy("Note"), max_length=500, required=False, widget=_PLAIN)

    def __init__(self, *given: Any, readable: "QuerySet[Document]", **options: Any) -> None:
        """Create the form; `readable` are the documents that its reader may read."""
        super().__init__(*given, **options)
        self.readable = readable

    def rule(self) -> dict[str, Any]:
        """Return the fields of the rule."""
        return {name: value for name, value in self.cleaned_data.items() if value not in ("", [])}


class _SynonymsForm(RuleForm):
    words = _ListField(
        label=gettext_lazy("Words or phrases"), help_text=gettext_lazy("Separated by commas: k8s, Kubernetes")
    )
    means = _ListField(
        label=gettext_lazy("Only in this direction"),
        required=False,
        help_text=gettext_lazy("If given, the words above also find these, but not vice versa."),
    )


class _StopWordsForm(RuleForm):
    words = _ListField(label=gettext_lazy("Words"), help_text=gettext_lazy("Separated by commas."))


class _QueriesForm(RuleForm):
    queries = _ListField(
        label=gettext_lazy("Searches"), help_text=gettext_lazy("One, or several separated by commas.")
    )
    match = forms.ChoiceField(
        label=gettext_lazy("Applies to"),
        choices=[
            (QueryMatch.EXACT.value, gettext_lazy("exactly these searches")),
            (QueryMatch.CONTAINS.value, gettext_lazy("searches that contain one of them")),
        ],
    )


class _PinForm(_QueriesForm):
    documents = forms.CharField(
        label=gettext_lazy("Documents"),
        max_length=5_000,
        widget=forms.Textarea(attrs={"rows": 2, "autocomplete": "off"}),
        help_text=gettext_lazy("One a line, the first on top: a title, a path, or the address of its page."),
    )

    def clean_documents(self) -> list[str]:
        """Return the ids. Raises ValidationError, naming a line that is no document, or several."""
        lines = [line.strip() for line in self.cleaned_data["documents"].splitlines()]
        found = list[str]()
        for line, documents in find_by_name(self.readable, lines).items():
            if not documents:
                raise forms.ValidationError(_("There is no document “%(name)s”.") % {"name": line})
            if len(documents) > 1:
                paths = ", ".join([document.path for document in documents][:5])
                raise forms.ValidationError(
                    _("Several documents are called “%(name)s”. Enter one of their paths: %(paths)s")
                    % {"name": line, "paths": paths}
                )
            found += [document.doc_id.hex for document in documents]
        return list(dict.fromkeys(found))


class _AnswerForm(_QueriesForm):
    title = forms.CharField(label=gettext_lazy("Title"), max_length=200, widget=_PLAIN)
    text = forms.CharField(
        label=gettext_lazy("Answer"),
        max_length=2_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    url = forms.CharField(label=gettext_lazy("Link"), max_length=2_000, required=False, widget=_PLAIN)


class _BoostForm(RuleForm):
    field = forms.ChoiceField(
        label=gettext_lazy("Documents by"),
        choices=[
            ("source", gettext_lazy("source")),
            ("type", gettext_lazy("file type")),
            ("trust", gettext_lazy("trust level")),
        ],
    )
    value = forms.CharField(
        label=gettext_lazy("Which one"),
        max_length=100,
        widget=forms.TextInput(attrs={"autocomplete": "off", "list": "boosted"}),
        help_text=gettext_lazy("The key of a source, a file type such as pdf, or a trust level."),
    )
    factor = forms.FloatField(
        label=gettext_lazy("Factor"),
        localize=True,
        min_value=0.1,
        max_value=10,
        initial=1.5,
        help_text=gettext_lazy("0.1 to 10. Above 1 ranks higher, below 1 lower."),
    )


#: By kind.
FORMS: Final[Mapping[RuleKind, type[RuleForm]]] = {
    RuleKind.SYNONYMS: _SynonymsForm,
    RuleKind.PIN: _PinForm,
    RuleKind.ANSWER: _AnswerForm,
    RuleKind.STOP_WORDS: _StopWordsForm,
    RuleKind.BOOST: _BoostForm,
}


#: The name of each kind, what it is about, and the button of its form.
KINDS: Final[Mapping[RuleKind, Mapping[str, Promise]]] = {
    RuleKind.SYNONYMS: {
        "name": gettext_lazy("Synonyms"),
        "about": gettext_lazy("Words that mean the same here, such as an abbreviation and its long form."),
        "add": gettext_lazy("Add synonyms"),
    },
    RuleKind.PIN: {
        "name": gettext_lazy("Pinned results"),
        "about": gettext_lazy("Documents that come first for a search."),
        "add": gettext_lazy("Pin a result"),
    },
    RuleKind.ANSWER: {
        "name": gettext_lazy("Promoted answers"),
        "about": gettext_lazy("Short answers that are shown above the results of a search."),
        "add": gettext_lazy("Add an answer"),
    },
    RuleKind.STOP_WORDS: {
        "name": gettext_lazy("Stop words"),
        "about": gettext_lazy("Words to ignore beside others, such as the name of your company."),
        "add": gettext_lazy("Add stop words"),
    },
    RuleKind.BOOST: {
        "name": gettext_lazy("Boosts"),
        "about": gettext_lazy("Sources, file types and trust levels that rank higher or lower."),
        "add": gettext_lazy("Add a boost"),
    },
}


class RulesPage(FormPage):
    """The rules of one kind, and the form that adds one."""

    need: ClassVar[Need] = MANAGE_RULES
    tab: ClassVar[str] = "settings"

    def act(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """Add a rule. Raises InvalidRequest, Conflict, and the quality gate's errors."""
        kind = _kind_of(request)
        self.form = form = FORMS[kind](request.POST, readable=self._documents())
        if not form.is_valid():
            return self.render_invalid(request, form)
        add_rule(self.access, {"kind": kind.value, **form.rule()}, force="force" in request.POST)
        messages.success(request, _("Rule added"))
        return redirect(rules_address(workspace, kind))

    def page(self, request: HttpRequest, form: forms.Form | None = None, **context: Any) -> HttpResponse:
        """Render the rules of a kind; an address with a query opens the form with it."""
        workspace, kind = self.access.workspace, _kind_of(request)
        asked = request.GET.get("query", "")
        if form is None:
            given = {
                "queries": asked,
                "words": asked,
                "documents": self._name_of(request.GET.get("document", "")),
            }
            form = FORMS[kind](
                initial={name: value for name, value in given.items() if value}, readable=self._documents()
            )
        rules = list_rules(workspace)[1]
        kinds = [rule["kind"] for rule in rules]
        context |= {
            "form": form,
            "is_open": bool(asked) or form.is_bound,
            "kind": kind.value,
            "texts": KINDS[kind],
            "counts": [(each, texts["name"], kinds.count(each)) for each, texts in KINDS.items()],
            "rules": [_present(rule) for rule in self._with_titles(rules, kind)],
            "boosted": self._boosted() if kind is RuleKind.BOOST else (),
            "section": "rules",
        }
        return self.render(request, "search/rules.html", **context)

    def add_problem(self, form: Any, problem: Problem) -> None:
        """Add the problem; that of the quality gate with a box to add the rule all the same."""
        form.may_force = problem.may_force
        if form.may_force:
            form.add_error(None, problem.detail)
        else:
            add_problem_to_form(form, problem)

    def _with_titles(self, rules: list[Rule], kind: RuleKind) -> list[Rule]:
        """Return the rules of a kind; pinned documents with their titles."""
        found = [rule for rule in rules if rule["kind"] == kind]
        ids = [uuid.UUID(hex=id_) for rule in found for id_ in rule.get("documents", ())]
        if not ids:
            return found
        rows = self._documents().filter(doc_id__in=ids).values_list("doc_id", "title", "path")
        titles = {doc_id.hex: title or path for doc_id, title, path in rows}
        return [
            {**rule, "titles": [(uuid.UUID(hex=doc_id), titles.get(doc_id)) for doc_id in rule["documents"]]}
            for rule in found
        ]

    def _documents(self) -> "QuerySet[Document]":
        return visible_documents(self.access.workspace, self.access.reader)

    def _name_of(self, id_: str) -> str:
        """Return the title or the path of a document if no other has the same, else its id."""
        row = next(iter(find_by_name(self._documents(), [id_]).get(id_, ())), None)
        names = [name for name in (row.title, row.path) if name] if row else []
        found = find_by_name(self._documents(), names)
        return next((name for name in names if len(found[name]) == 1), id_)

    def _boosted(self) -> list[str]:
        sources = Source.objects.in_workspace(self.access.workspace).order_by("key")
        return [*sources.values_list("key", flat=True)[:200], *Trust.values]


@PeopleAction.of(need=MANAGE_RULES, tab="rules")
def switch_rule(page: PeopleAction, rule_id: uuid.UUID) -> HttpResponse:
    """Switch the rule. Raises NotFound, and the quality gate's errors."""
    is_active = page.request.GET.get("on") != "no"
    rule = change_rule(page.access, rule_id.hex, {"is_active": is_active}, force=False)
    messages.success(page.request, _("Rule switched on") if is_active else _("Rule switched off"))
    return redirect(rules_address(page.access.workspace, RuleKind(rule["kind"])))


@PeopleAction.of(need=MANAGE_RULES, tab="rules")
def delete_shown_rule(page: PeopleAction, rule_id: uuid.UUID) -> HttpResponse:
    """Delete the rule. Raises NotFound, and the quality gate's errors."""
    rule = delete_rule(page.access, rule_id.hex, force=False)
    messages.success(page.request, _("Rule deleted"))
    return redirect(rules_address(page.access.workspace, RuleKind(rule["kind"])))


def rules_address(workspace: Workspace, kind: RuleKind) -> str:
    """Return the address of the page with the rules of a kind."""
    return f"{reverse('rules', args=[workspace.slug])}?kind={kind.value}"


def _kind_of(request: HttpRequest) -> RuleKind:
    given = request.GET.get("kind", RuleKind.SYNONYMS.value)
    try:
        return RuleKind(given)
    except ValueError as error:
        raise InvalidRequest(f"kind: choose one of {', '.join(RuleKind)}.") from error


def _present(rule: Rule) -> dict[str, Any]:
    """Return a rule as the page shows it: what it is for, and what it does."""
    id_ = uuid.UUID(hex=rule["id"])
    shown: dict[str, Any] = {"rule": rule, "id": id_, "titles": rule.get("titles", ())}
    match RuleKind(rule["kind"]):
        case RuleKind.BOOST:
            shown |= {"what": rule["value"], "effect": f"× {localize_input(rule['factor'])}"}
        case RuleKind.SYNONYMS:
            sign = " → " if rule["means"] else " = "
            words = " = ".join(rule["words"]) if not rule["means"] else ", ".join(rule["words"])
            shown |= {"what": sign.join(filter(None, [words, ", ".join(rule["means"])]))}
        case RuleKind.STOP_WORDS:
            shown |= {"what": ", ".join(rule["words"])}
        case _:
            shown |= {"what": ", ".join(rule["queries"]), "effect": rule.get("title", "")}
            shown["contains"] = rule["match"] == QueryMatch.CONTAINS
    return shown
