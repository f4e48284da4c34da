"""Numbers in parts are one term, whatever their notation, in texts and in queries."""

from hypothesis import example, given
from hypothesis import strategies as st

from search.analysis import analyse, joined_terms
from search.analysis.numbers import MONTH_FILE, MONTHS, NumberKind, find_numbers, readable
from search.retrieval.query.stopwords import STOP_WORDS, read_word_lists

NOTATIONS = {
    "2026-02-19": [
        "19.02.2026", "19. 2. 2026", "19.02.26", "February 19, 2026", "Feb 19th 2026", "19 February 2026",
        "02/19/2026", "19/02/2026", "2026/02/19", "2026-02-19T10:30:00Z", "20260219", "19. Februar 2026",
        "19 février 2026", "19 de febrero de 2026", "19 lutego 2026", "19 февраля 2026", "2026年2月19日",
        "2026년 2월 19일", "minutes-2026-02-19.md", "19. veljače 2026", "19 փետրվարի 2026",
    ],
    "--02-19": ["February 19", "19. Februar", "19 févr."],
    "2026-02": ["February 2026", "2026-02", "02/2026", "Februar 2026"],
    "5.6": ["5.6", "(5.6)", "5.6.", "5,6", "§ 5.6"],
    "3.2.1": ["3.2.1", "v3.2.1", "3.2.1-rc1", "3.02.01"],
    "10.1.1.20": ["10.1.1.20", "010.001.001.020", "10.1.1.20:8080", "10.1.1.20/24"],
    "inv20240117": ["INV-2024-0117", "INV 2024 0117", "INV20240117", "INV/2024/0117", "inv_2024_0117"],
    "9783161484100": ["978-3-16-148410-0", "978 3 16 148410 0", "ISBN 9783161484100"],
    "5551234567": ["(555) 123-4567", "555 123 4567", "555-123-4567"],
    "de89370400440532013000": ["DE89 3704 0044 0532 0130 00", "de89370400440532013000"],
    "pc200": ["PC200", "PC-200", "PC 200", "PC/200"],
}  # fmt: skip


def readings(text):
    return [readable(number) for _, _, number in find_numbers(text)]


def terms(text):
    return {term for token in analyse(text) for term in token[2:]}


def test_notations_of_a_number_are_read_alike(subtests):
    for number, notations in NOTATIONS.items():
        for text in notations:
            with subtests.test(number=number, text=text):
                (found,) = readings(text)
                assert number in found


def test_other_numbers_and_words_are_none(subtests):
    cases = [
        "sha256", "x86", "1939-1945", "2024 2025", "24/7 at 10:30", "1,200", "we may 19 times", "31.02.x",
        "32.13.2026 ", "in 2024", "a 5-6 b", "1,2,3", "version two",
    ]  # fmt: skip
    for text in cases:
        with subtests.test(text=text):
            assert {number.kind for _, _, number in find_numbers(text)} <= {NumberKind.DOTTED}


def test_day_and_month_are_ambiguous_unless_the_language_has_an_order():
    assert readings("02/03/2026") == [("2026-03-02", "2026-02-03", "2-3-2026")]
    english = terms("The minutes of the meeting on 02/03/2026 are about it")
    german = terms("Das Protokoll der Sitzung vom 02/03/2026 ist nicht da")
    march, february = (joined_terms(each)[0] for each in ("2026-03-02", "2026-02-03"))
    assert {march, february} <= english
    assert march in german
    assert february not in german


def test_index_has_the_whole_and_what_it_belongs_to(subtests):
    for text, others in [
        ("am 19. Februar 2026", ["2026-02-19", "Feb 19", "2026-02"]),
        ("PC200X", ["PC200X", "PC200"]),
        ("l'article 5.6 du contrat", ["5.6"]),
    ]:
        for other in others:
            with subtests.test(text=text, other=other):
                assert terms(text) & set(joined_terms(other))
    assert not terms("Clause 6.5 and 5.61") & set(joined_terms("5.6"))
    assert not terms("10.1.2.1") & set(joined_terms("10.2.1.2"))


def test_every_language_with_stop_words_but_vietnamese_and_irish_names_the_months():
    assert set(MONTHS.values()) == set(range(1, 13))
    lists = read_word_lists(MONTH_FILE)
    assert STOP_WORDS.keys() - lists.keys() == {"vi", "ga"}
    assert all(len(names.split()) == 12 for names in lists.values())


@example("0年I00/0")
@given(st.text(alphabet="0123456789-./ ,INVabc年月日\u00a0()Mayde", max_size=60))
def test_any_text_has_numbers_at_their_places(text):
    for start, end, number in find_numbers(text):
        assert 0 <= start < end <= len(text)
        assert number.terms
        assert terms(text).issuperset(number.readings)
