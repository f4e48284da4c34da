"""Pages that differ by a number in parts alone, in five notations and three languages, with their queries.

The pages of a kind are equal but for their number and one figure.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import cycle
from typing import Final

_MONTHS = {
    "en": ("January", "February"),
    "de": ("Januar", "Februar"),
    "fr": ("janvier", "février"),
}
LANGUAGES = ("en", "de", "fr")
#: Returns a number in a notation of a language.
Notation = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedPage:
    """A page about a number, and how it is asked for in another notation."""

    path: str
    text: str
    query: str
    question: str
    #: What answers the question.
    figure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """A kind of pages: the texts of page, query and question by language, with `{n}` and `{figure}`."""

    name: str
    texts: dict[str, str]
    queries: dict[str, str]
    questions: dict[str, str]
    #: Each number in its five notations.
    numbers: Sequence[Sequence[Notation]]
    #: From which the figures of the pages ascend.
    first_figure: int


def numbered_pages() -> list[NumberedPage]:
    """Return the 200 pages: dates, clauses, hosts, versions, invoices and part numbers."""
    return [page for kind in _KINDS for page in _pages(kind)]


def absent_questions() -> list[str]:
    """Return questions about numbers that no page has, though near ones."""
    return [
        "Within how many days must the supplier report under clause 7.6?",
        "Innerhalb wie vieler Tage muss der Lieferant nach Ziffer 1.9 berichten?",
        "On which port does the service run on host 10.9.2.1?",
        "Sur quel port l'hôte 10.3.3.9 exécute-t-il le service ?",
        "How many guests came on 2025-07-14?",
        "Wie viele Gäste kamen am 3. Mai 2024?",
        "How many faults of the importer does release 9.2.1 mend?",
        "What is the total of invoice INV-2021-0117?",
        "Wie hoch ist der Betrag der Rechnung INV-2024-9999?",
        "How many grams does part PC-9450 weigh?",
    ]


def _pages(kind: _Kind) -> Iterator[NumberedPage]:
    for at, (notations, language) in enumerate(zip(kind.numbers, cycle(LANGUAGES))):
        figure = str(kind.first_figure + 3 * at)
        asked = LANGUAGES[(at // len(LANGUAGES)) % len(LANGUAGES)]
        written = notations[at % len(notations)](language)
        other = notations[(at + 1 + at // len(notations) % (len(notations) - 1)) % len(notations)](asked)
        yield NumberedPage(
            path=f"{kind.name}/{at:03}.md",
            text=kind.texts[language].format(n=written, figure=figure),
            query=kind.queries[asked].format(n=other),
            question=kind.questions[language].format(n=notations[(at + 2) % len(notations)](language)),
            figure=figure,
        )


_SERIALS = (117, 171, 711, 1107, 1170, 1701, 1710, 7011, 7101, 7110, 1011, 1101, 1110, 111)


def _day(day: date) -> list[Notation]:
    """Return a day as ISO writes it, with dots, as each language does, and without dividers."""

    def named(language: str) -> str:
        month = _MONTHS[language][day.month - 1]
        if language == "en":
            return f"{month} {day.day}, {day.year}"
        return f"{day.day}{'.' if language == 'de' else ''} {month} {day.year}"

    def slashed(language: str) -> str:
        return f"{day:%m/%d/%Y}" if language == "en" and day.day > 12 else f"{day:%Y/%m/%d}"

    return [
        lambda language: day.isoformat(), lambda language: f"{day:%d.%m.%Y}", named, slashed,
        lambda language: f"{day.day}. {day.month}. {day.year}",
    ]  # fmt: skip


def _clause(first: int, second: int) -> list[Notation]:
    forms = ("{}.{}", "{}.{}.", "({}.{})", "{}.{}", "„{}.{}“")
    return [lambda language, form=form: form.format(first, second) for form in forms]


def _host(*parts: int) -> list[Notation]:
    a, b, c = parts
    forms = (f"10.{a}.{b}.{c}", f"10.{a}.{b}.{c}:8080", f"010.{a:03}.{b:03}.{c:03}", f"`10.{a}.{b}.{c}`")
    return [lambda language, form=form: form for form in (*forms, f"10.{a}.{b}.{c}/24")]


def _version(*parts: int) -> list[Notation]:
    a, b, c = parts
    forms = (f"{a}.{b}.{c}", f"v{a}.{b}.{c}", f"V{a}.{b}.{c}", f"{a}.{b:02}.{c:02}", f"`{a}.{b}.{c}`")
    return [lambda language, form=form: form for form in forms]


def _code(*parts: str) -> list[Notation]:
    dividers = ("-", " ", "", "/", "_")
    return [lambda language, divider=divider: divider.join(parts) for divider in dividers]


#: One for each kind of number.
_KINDS: Final = (
    _Kind(
        name="minutes",
        texts={
            "en": "# Minutes\n\nMeeting of {n}\n\nPresent: Ada, Jo. {figure} guests came.\n",
            "de": "# Protokoll\n\nSitzung vom {n}\n\nAnwesend: Ada, Jo. Es kamen {figure} Gäste.\n",
            "fr": "# Compte rendu\n\nRéunion du {n}\n\nPrésents : Ada, Jo. {figure} invités sont venus.\n",
        },
        queries={"en": "minutes of {n}", "de": "Protokoll vom {n}", "fr": "compte rendu du {n}"},
        questions={
            "en": "How many guests came on {n}?",
            "de": "Wie viele Gäste kamen am {n}?",
            "fr": "Combien d'invités sont venus le {n} ?",
        },
        numbers=[_day(date(2026, 1, 5) + timedelta(days=each)) for each in range(48)],
        first_figure=71_101,
    ),
    _Kind(
        name="clauses",
        texts={
            "en": "# Contract\n\nClause {n} obliges the supplier to report within {figure} days.\n",
            "de": "# Vertrag\n\nZiffer {n} verpflichtet den Lieferanten, in {figure} Tagen zu berichten.\n",
            "fr": "# Contrat\n\nL'article {n} oblige le fournisseur à rendre compte en {figure} jours.\n",
        },
        queries={
            "en": "clause {n}",
            "de": "Ziffer {n} des Vertrags",
            "fr": "que dit l'article {n} du contrat",
        },
        questions={
            "en": "Within how many days must the supplier report under clause {n}?",
            "de": "Innerhalb wie vieler Tage muss der Lieferant nach Ziffer {n} berichten?",
            "fr": "En combien de jours le fournisseur doit-il rendre compte selon l'article {n} ?",
        },
        numbers=[_clause(first, second) for first in range(1, 7) for second in range(1, 7)],
        first_figure=72_102,
    ),
    _Kind(
        name="hosts",
        texts={
            "en": "# Inventory\n\nHost {n} runs the service on port {figure}.\n",
            "de": "# Inventar\n\nAuf dem Rechner {n} läuft der Dienst am Port {figure}.\n",
            "fr": "# Inventaire\n\nL'hôte {n} exécute le service sur le port {figure}.\n",
        },
        queries={"en": "host {n}", "de": "Rechner {n}", "fr": "hôte {n}"},
        questions={
            "en": "On which port does the service run on host {n}?",
            "de": "An welchem Port läuft der Dienst auf dem Rechner {n}?",
            "fr": "Sur quel port l'hôte {n} exécute-t-il le service ?",
        },
        numbers=[_host(a, b, c) for a in (1, 2, 3) for b in (1, 2, 20) for c in (1, 2, 10, 20)],
        first_figure=73_103,
    ),
    _Kind(
        name="releases",
        texts={
            "en": "# Release notes\n\nRelease {n} mends {figure} faults of the importer.\n",
            "de": "# Versionshinweise\n\nVersion {n} behebt {figure} Fehler des Imports.\n",
            "fr": "# Notes de version\n\nLa version {n} corrige {figure} défauts de l'import.\n",
        },
        queries={"en": "release notes {n}", "de": "Versionshinweise {n}", "fr": "notes de version {n}"},
        questions={
            "en": "How many faults of the importer does release {n} mend?",
            "de": "Wie viele Fehler des Imports behebt Version {n}?",
            "fr": "Combien de défauts de l'import la version {n} corrige-t-elle ?",
        },
        numbers=[_version(a, b, c) for a in (2, 3) for b in (1, 2, 12) for c in (0, 1, 2, 12)],
        first_figure=74_104,
    ),
    _Kind(
        name="invoices",
        texts={
            "en": "# Invoice\n\nInvoice {n}. The total is {figure} euros.\n",
            "de": "# Rechnung\n\nRechnung {n}. Der Betrag ist {figure} Euro.\n",
            "fr": "# Facture\n\nFacture {n}. Le total est de {figure} euros.\n",
        },
        queries={"en": "invoice {n}", "de": "Rechnung {n}", "fr": "facture {n}"},
        questions={
            "en": "What is the total of invoice {n}?",
            "de": "Wie hoch ist der Betrag der Rechnung {n}?",
            "fr": "Quel est le total de la facture {n} ?",
        },
        numbers=[_code("INV", year, f"{each:04}") for year in ("2024", "2025") for each in _SERIALS],
        first_figure=75_105,
    ),
    _Kind(
        name="parts",
        texts={
            "en": "# Spare parts\n\nPart {n} weighs {figure} grams.\n",
            "de": "# Ersatzteile\n\nDas Teil {n} wiegt {figure} Gramm.\n",
            "fr": "# Pièces détachées\n\nLa pièce {n} pèse {figure} grammes.\n",
        },
        queries={"en": "part {n}", "de": "Teil {n}", "fr": "pièce {n}"},
        questions={
            "en": "How many grams does part {n} weigh?",
            "de": "Wie viel Gramm wiegt das Teil {n}?",
            "fr": "Combien de grammes pèse la pièce {n} ?",
        },
        numbers=[
            *(
                _code("PC", str(each))
                for each in (2040, 2400, 4020, 4200, 2004, 4002, 2044, 4022, 2204, 4402)
            ),
            *(_code("PC", each, "07") for each in ("204", "240", "402", "420", "200", "400", "244", "422")),
            *(
                _code("ZX", str(each))
                for each in (2040, 2400, 4020, 4200, 2004, 4002, 2044, 4022, 2204, 4402)
            ),
        ],
        first_figure=76_106,
    ),
)
