"""Forms of the evaluation pages, and the topics and run settings built from them."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from search.evaluation.judged import JudgedTopic, Qrel
from search.evaluation.settings import RunSettings
from search.evaluation.topic_sets import SetSummary, query_topic_id
from search.models.document import MAX_PATH_CHARS
from search.models.evaluation import GOLDEN, MAX_RUN_NAME_CHARS, MAX_SET_CHARS
from search.pages.search.form import MODES
from search.retrieval.citation import split_uri

_MAX_QUERY_CHARS = 2_000
_MOST_PLACES = 100


class TopicForm(forms.Form):
    """A test query with the places that answer it."""

    text = forms.CharField(label=gettext_lazy("Query"), max_length=_MAX_QUERY_CHARS)
    places = forms.CharField(
        label=gettext_lazy("Right results"),
        required=False,
        max_length=_MOST_PLACES * MAX_PATH_CHARS,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        help_text=gettext_lazy(
            "One document per line, such as guides/install.md, or lines of it: guides/install.md#L3-L9."
        ),
    )
    is_unanswerable = forms.BooleanField(
        label=gettext_lazy("Nothing in this workspace answers it"), required=False
    )
    topic_set = forms.CharField(
        label=gettext_lazy("Set"),
        max_length=MAX_SET_CHARS,
        initial=GOLDEN,
        help_text=gettext_lazy("The set “golden” is tested before changed search settings take effect."),
    )

    def clean_places(self) -> Sequence[str]:
        """Return the places without duplicates."""
        lines = [line.strip() for line in self.cleaned_data["places"].splitlines()]
        places = list(dict.fromkeys(line for line in lines if line))
        if len(places) > _MOST_PLACES:
            raise forms.ValidationError(_("List %(most)s results at most.") % {"most": _MOST_PLACES})
        return places

    def clean(self) -> dict[str, Any]:
        """Validate that there are places, or that the query is unanswerable. Raises ValidationError."""
        given = self.cleaned_data
        if "places" in given and not given["places"] and not given.get("is_unanswerable"):
            self.add_error("places", _("Name the right results, or check that nothing answers it."))
        return given

    def build_topic(self) -> JudgedTopic:
        """Build the topic; equal queries give the same topic id. Raises InvalidJudgedSet."""
        given = self.cleaned_data
        places = map(split_uri, given["places"])
        return JudgedTopic(
            topic_id=query_topic_id(given["text"]),
            text=given["text"],
            qrels=tuple(Qrel(path=path, fragment=fragment) for path, fragment in places),
            is_unanswerable=given["is_unanswerable"],
        )


class RunForm(forms.Form):
    """A new evaluation run."""

    topic_set = forms.ChoiceField(label=gettext_lazy("Set"))
    mode = forms.ChoiceField(label=gettext_lazy("Search by"), choices=list(MODES.items()))
    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=MAX_RUN_NAME_CHARS,
        required=False,
        help_text=gettext_lazy("Optional: what is different this time."),
    )

    def __init__(self, *args: Any, sets: Sequence[SetSummary], **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["topic_set"].choices = [  # type: ignore[attr-defined]  # a ChoiceField
            (each.topic_set, f"{each.topic_set} ({each.topics})") for each in sets
        ]

    def build_settings(self) -> RunSettings:
        """Build the run's settings. Raises InvalidRunSetting."""
        return RunSettings.of({"mode": self.cleaned_data["mode"]})
