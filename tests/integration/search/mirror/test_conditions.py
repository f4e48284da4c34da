"""Conditions of operators hold for the same passages in a mirror and in the check of their fields."""

from itertools import product

from search.analysis import STEMMED, UNSTEMMED_WORDS
from search.mirror import connections
from search.mirror.postings.entries import read_chunk_table
from search.mirror.query.conditions import meet_conditions
from search.retrieval.query.operators import parse_operators
from search.retrieval.query.passage_conditions import ConditionedPassage
from tests.integration.search.mirror.factories import apply, document_state

TEXTS = (
    "Annual leave of the teams",
    "leave annually; annual\nleaves",
    "the e-mail server, an email and E‑Mails",
    "rateLimit, rate limit and RATE_LIMIT in next.js",
    "16GB of RAM, 16 GB, sha256 and 1,200 items",
    "Les congés annuels de l'équipe et des équipes",
    "Der Jahresurlaub für Müller und Mueller, ein Straßenname",
    "年次休暇の申請書を提出する",
    "한국어 연차 휴가",
    "C++ and C#, not C; U.S.A. and USA",
    "",
)
PHRASES = (
    "annual leave",
    "leave annual",
    "teams",
    "of the team",
    "e-mail",
    "email",
    "e mail server",
    "ratelimit",
    "rate limit",
    "next.js",
    "16 gb",
    "sha256",
    "1200 items",
    "congé annuel",
    "l'équipe",
    "mueller",
    "strassenname",
    "休暇",
    "申",
    "次休暇の申",
    "연차 휴가",
    "c++",
    "c",
    "usa",
    "u.s.a",
    "guides fruit",
    "fruit tree",
)


def test_phrase_is_found_by_both_in_the_same_passages(tmp_path, subtests):
    for analysis in (STEMMED, UNSTEMMED_WORDS):
        connection = connections.create_file(tmp_path / f"{analysis.tokenizer}.sqlite3", analysis)
        apply(connection, *(document_state(f"fruit/tree {n}.md", [text]) for n, text in enumerate(TEXTS)))
        chunks = read_chunk_table(connection)
        order = "SELECT chunk FROM chunks JOIN documents USING (doc) ORDER BY length(path), path"
        rows = [row for (row,) in connection.execute(order)]
        for phrase, words in product(PHRASES, ("words", "des mots de la langue")):
            operators = parse_operators(f'{words} "{phrase}"', analysis)
            mask = meet_conditions(connection, chunks, operators.conditions)
            with subtests.test(phrase=phrase, analysis=analysis.tokenizer, words=words):
                found = [not any(_passage(n, analysis).unmet(operators)) for n in range(len(TEXTS))]
                assert mask[rows].tolist() == found
        connection.close()


def _passage(number, analysis):
    return ConditionedPassage(
        breadcrumb="Fruit",
        text=TEXTS[number],
        path=f"fruit/tree {number}.md",
        title="Fruit",
        media="text",
        lang="en",
        code_lang="",
        tags=(),
        source="s",
        author="",
        dated_at=0.0,
        analysis=analysis,
    )
