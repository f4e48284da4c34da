"""Names, explanations and formats of measures, in the reader's words."""

from typing import Final, NamedTuple

from django.template.defaultfilters import floatformat
from django.utils.translation import gettext_lazy as _

#: The label and explanation of measures, by their names without a cutoff.
_WORDS: Final = {
    "nDCG": (_("Ranking quality"), _("1 if the right documents come first, in the best order.")),
    "RR": (_("First right result"), _("1 if the first result is right, 0.5 if the second is, and so on.")),
    "R": (_("Right documents found"), _("Share of the right documents that are found.")),
    "P": (_("Right among results"), _("Share of the results that are right.")),
    "Success": (_("Queries answered"), _("Share of queries with a right document among the results.")),
    "citation_coverage": (_("Right passages found"), _("Share of right passages in the first ten results.")),
    "empty_rate": (_("No results"), _("Share of queries that find nothing; lower is better.")),
    "refusal_rate": (_("Not answered"), _("Share of queries without a good enough result; lower is better.")),
    "refused_right": (
        _("Rightly not answered"),
        _("Of the queries without an answer here, the share left unanswered."),
    ),
}
_SHARES: Final = _WORDS.keys() - {"nDCG", "RR"}


class MeasureName(NamedTuple):
    """A measure as people read it; its own name is technical, such as nDCG@10."""

    name: str
    label: str
    explanation: str

    def format_value(self, value: float | None, *, is_signed: bool = False) -> str:
        """Return a value of the measure: of a share in percent, else with three digits."""
        if value is None:
            return "–"
        is_share = self.name.partition("@")[0] in _SHARES
        text = f"{floatformat(round(100 * value, 1), -1)} %" if is_share else str(floatformat(value, 3))
        return f"+{text}" if is_signed and value > 0 else text


def name_measure(name: str) -> MeasureName:
    """Return the measure's label and explanation; of an unknown one the name itself."""
    family, _at, cutoff = name.partition("@")
    label, explanation = _WORDS.get(family, (name, ""))
    if cutoff and explanation:
        label = _("%(measure)s (top %(count)s)") % {"measure": label, "count": cutoff}
    return MeasureName(name, str(label), f"{explanation} ({name})".strip())
