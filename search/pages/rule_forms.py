"""Forms of the search rules, one for each kind."""

import re
from collections.abc import Mapping
from typing import Any, Final

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from search.retrieval.query.rules import QueryMatch, RuleKind

_DOCUMENT_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
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
        help_text=gettext_lazy("The addresses of their pages here, or their ids, in their order."),
    )

    def clean_documents(self) -> list[str]:
        """Return the ids. Raises ValidationError if there is none."""
        found = list(dict.fromkeys(_DOCUMENT_ID.findall(self.cleaned_data["documents"])))
        if not found:
            raise forms.ValidationError(_("Enter the address of a document’s page."))
        return found


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
