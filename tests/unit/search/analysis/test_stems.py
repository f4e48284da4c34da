"""Words of one meaning have a stem in common, in their language and in a query of an unknown one."""

from dataclasses import replace

from search.analysis import STEMMED
from search.analysis.stems import languages_of, stem_in, stems_in

FORMS = [
    ("af", "faktuur fakture"),
    ("af", "man manne"),
    ("bg", "договор договорът договорите"),
    ("ca", "factura factures"),
    ("da", "nøgle nøgler"),
    ("da", "regel regler"),
    ("de", "Kündigung Kündigungen"),
    ("de", "Haus Häuser Hauses"),
    ("eo", "fakturo fakturoj fakturon"),
    ("es", "luz luces"),
    ("et", "leping lepingu lepingud"),
    ("et", "dokument dokumendi"),
    ("eu", "etxe etxea etxearen"),
    ("fi", "sopimus sopimuksen sopimukset sopimusta"),
    ("fi", "oikeus oikeuden oikeutta"),
    ("fi", "suomalainen suomalaiset"),
    ("fr", "cheval chevaux"),
    ("fr", "travail travaux"),
    ("ga", "bord bhord mbord"),
    ("gl", "avión avións"),
    ("hr", "zaposlenik zaposlenici zaposlenicima"),
    ("is", "samningur samningar samningurinn"),
    ("is", "skrifstofa skrifstofu skrifstofur"),
    ("is", "skjal skjöl skjalið"),
    ("lt", "sutartis sutarties sutarčių"),
    ("lv", "līgums līguma līgumu līgumā"),
    ("mk", "фактура фактурата"),
    ("ne", "किताब किताबहरू किताबको"),
    ("no", "nøkkel nøkler nøklene"),
    ("pt", "animal animais"),
    ("pt", "avião aviões"),
    ("ro", "factură facturi"),
    ("sk", "zmluva zmluvy zmluvu"),
    ("sl", "račun računi računov"),
    ("sl", "delavec delavca delavcev"),
    ("sl", "izdelek izdelka izdelkov"),
    ("sr", "radnik radnici"),
    ("sr", "уговор уговора ugovori"),
    ("sv", "nyckel nyckeln nycklar nycklarna"),
    ("sv", "faktura fakturan fakturor"),
    ("tr", "sözleşme sözleşmesi sözleşmeler"),
    ("uk", "договір договору договорів"),
    ("uk", "клієнт клієнта клієнти клієнтів"),
    ("uk", "ключ ключі ключів"),
    ("yi", "טיש טישן"),
]


def test_forms_of_a_word_share_a_stem(subtests):
    for language, words in FORMS:
        with subtests.test(words=words):
            assert len({stem_in(language, word) for word in words.split()}) == 1


def test_hebrew_words_count_without_prefixes_and_endings(subtests):
    for words in ("משרד המשרד שהמשרד במשרד", "חוזה החוזים בחוזים", "מסמך המסמכים"):
        with subtests.test(words=words):
            each = [{word, *stems_in(None, word)} for word in words.split()]
            assert set.intersection(*each)


def test_stem_that_is_a_word_of_another_language_counts():
    """Esperanto `post` doesn't hide the German stem where no document is Esperanto."""
    assert "post" in stems_in("+de", "Posten")
    assert "post" not in stems_in("+de+eo", "Posten")


def test_query_of_unknown_language_has_the_stems_of_all_languages(subtests):
    analysis = replace(STEMMED, languages=languages_of(["en", "nb", "fr", "zh", "de"]))
    assert analysis.languages == "+de+fr+no"
    assert languages_of(["bs", "ms", "uz"]) == "+hr+id"
    for one, other in (("chevaux", "cheval"), ("Kündigungen", "kundig"), ("nøkler", "nokl")):
        with subtests.test(word=one):
            assert other in analysis.query_terms(one)[0]
            assert other not in STEMMED.query_terms(one)[0]
    assert "cheval" not in analysis.query_terms("chevaux", "de")[0]
    assert "cheval" not in analysis.query_terms("chevaux", "en")[0]


def test_stem_that_is_a_stop_word_is_left_out():
    assert stem_in("de", "notes") == "not"
    assert stems_in("+de+fr", "notes") == ()
