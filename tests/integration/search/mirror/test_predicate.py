"""Conditions on the chunks of a mirror; those on words hold for the same passages as in their own check."""

from dataclasses import replace
from itertools import product

from search.analysis import STEMMED, UNSTEMMED_WORDS
from search.mirror import connections
from search.mirror.postings.entries import read_chunk_table
from search.mirror.postings.predicate import chunks_meeting
from search.retrieval.query.conditions import comparisons
from search.retrieval.query.metadata import filter_values
from search.retrieval.query.metadata_filter import parse_metadata_filter
from search.retrieval.query.operators import parse_operators
from search.retrieval.query.passage_words import WordedPassage
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


METADATA = [
    ({"team": "ops"}, True),
    ({"team": "OPS"}, True),
    ({"stack": ["css", "DB"]}, True),
    ({"team": "dev"}, False),
    ({"team": {"in": ["dev", "ops"]}}, True),
    ({"team": {"not": "dev"}}, True),
    ({"other": {"not": "dev"}}, True),
    ({"stack": {"not": "db"}}, False),
    ({"year": {"gt": 2020, "lte": 2021}}, True),
    ({"year": {"lt": 2021}}, False),
    ({"team": {"gte": 0}}, False),
    ({"due": {"gt": "2024-02-29", "lt": "2024-03-02T00:00:00Z"}}, True),
    ({"due": {"exists": True}, "gone": {"exists": False}}, True),
    ({"due": {"exists": False}}, False),
    ({"$or": [{"team": "dev"}, {"year": 2021, "stack": "db"}]}, True),
    ({"$or": [{"team": "dev"}, {"year": 2021, "stack": "css"}]}, False),
    ({"$or": [{"team": "ops"}], "year": 2020}, False),
    ({"$and": [{"year": {"gt": 2020}}, {"year": {"lt": 2022}}, {"$or": [{"team": "ops"}]}]}, True),
    ({"$and": [{"year": {"gt": 2020}}, {"year": {"lt": 2021}}]}, False),
    ({"year": "2021"}, True),
    ({"year": "2021.0"}, False),
    ({"version": 1.1}, False),
    ({"version": {"gte": 1, "lt": "1.2"}}, True),
    ({"count": 7}, True),
    ({"count": {"gte": "6.5", "lte": 7}}, True),
    ({"count": {"gt": 7}}, False),
    ({"due": {"gte": "2024-03", "lte": "2024-03"}}, True),
    ({"due": {"gt": "2024-02"}}, True),
    ({"due": {"gt": "2024-03"}}, False),
    ({"due": {"lt": "2024-03"}}, False),
    ({"due": {"lte": 2024}}, True),
    ({"due": {"gt": 2024}}, False),
    ({"due": "01.03.2024"}, True),
    ({"month": {"gte": "2024-11-01", "lt": "01.12.2024"}}, True),
    ({"month": "11/2024"}, True),
    ({"year": {"gt": "2020-12-31", "lte": "2021-01"}}, True),
    ({"year": {"gte": 2020, "lt": "2021-06"}}, True),
    ({"team": {"starts_with": "OP"}}, True),
    ({"team": {"ends_with": ["x", "PS"]}}, True),
    ({"team": {"contains": "p"}}, True),
    ({"team": {"contains": "."}}, False),
    ({"team": {"not": {"contains": "x"}}}, True),
    ({"year": {"starts_with": 20}}, True),
    ({"stack": {"ends_with": "eb"}}, True),
    ({"gone": {"contains": "p"}}, False),
    ({"$path": "A.md"}, True),
    ({"$path": {"starts_with": "a.", "ends_with": ".MD"}}, True),
    ({"$path": {"contains": "*"}}, False),
    ({}, True),
]


def test_phrase_is_found_by_both_in_the_same_passages(tmp_path, subtests):
    for analysis in (STEMMED, UNSTEMMED_WORDS):
        connection = connections.create_file(tmp_path / f"{analysis.tokenizer}.sqlite3", analysis)
        apply(connection, *(document_state(f"fruit/tree {n}.md", [text]) for n, text in enumerate(TEXTS)))
        chunks = read_chunk_table(connection)
        order = "SELECT chunk FROM chunks JOIN documents USING (doc) ORDER BY length(path), path"
        rows = [row for (row,) in connection.execute(order)]
        for phrase, words in product(PHRASES, ("words", "des mots de la langue")):
            operators = parse_operators(f'{words} "{phrase}"', analysis)
            (condition,) = (each.condition for each in operators.conditions)
            (comparison,) = comparisons(condition)
            mask = chunks_meeting(connection, chunks, condition)
            with subtests.test(phrase=phrase, analysis=analysis.tokenizer, words=words):
                found = [_passage(n, analysis).meets(comparison) for n in range(len(TEXTS))]
                assert mask[rows].tolist() == found
        connection.close()


def _passage(number, analysis):
    return WordedPassage(
        breadcrumb="Fruit",
        text=TEXTS[number],
        path=f"fruit/tree {number}.md",
        title="Fruit",
        author="",
        analysis=analysis,
    )


def test_values_of_a_document_meet_conditions(tmp_path, subtests):
    values = filter_values(
        {
            "team": "Ops",
            "year": 2021,
            "stack": ["web", "db"],
            "due": "2024-03-01",
            "month": "2024-11",
            "count": "7",
            "version": "1.10",
        }
    )
    stored = ((name, value) for name, several in values.items() for value in several)
    state = replace(document_state("a.md", ["apple"]), values=tuple(stored))
    connection = connections.create_file(tmp_path / "mirror.sqlite3")
    apply(connection, state)
    chunks = read_chunk_table(connection)
    for given, expected in METADATA:
        with subtests.test(given=given):
            found = (
                chunks_meeting(connection, chunks, each.condition) for each in parse_metadata_filter(given)
            )
            assert all(mask[chunks.docs != 0].all() for mask in found) is expected
    connection.close()
