"""A model's languages are matched by the query and the workspace's documents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.embedders.base import ANY_LANGUAGE, SpaceIdentity
from search.embedders.query_language import HARDLY_KNOWN, MOSTLY_KNOWN, guess_language, knows_language


def model(*languages):
    return SpaceIdentity(model="m", revision="1", dim=1, quantisation="none", languages=languages)


ENGLISH = model("en")

QUESTIONS = {
    "ar": "كيف يمكنني تثبيت الخادم على جهازي؟", "bg": "Как да инсталирам сървъра на моя компютър?",
    "bn": "আমি কীভাবে সার্ভার ইনস্টল করব?", "cs": "Jak se dá nainstalovat server na můj počítač?",
    "da": "Hvordan kan jeg installere serveren på min computer?",
    "de": "Wie viele Punkte gab die Verteidigung der Panthers ab?",
    "el": "Πώς μπορώ να εγκαταστήσω τον διακομιστή στον υπολογιστή μου;",
    "es": "¿Cómo puedo instalar el servidor en mi ordenador?",
    "fa": "چگونه می‌توانم سرور را روی رایانه خود نصب کنم؟",
    "fi": "Miten voin asentaa palvelimen omalle koneelleni ja käynnistää sen?",
    "fr": "Combien de personnes travaillent au ministère des sports",
    "he": "איך אפשר להתקין את השרת על המחשב שלי?", "hi": "मैं अपने कंप्यूटर पर सर्वर कैसे स्थापित करूँ?",
    "hu": "Hogyan lehet telepíteni a szervert a saját gépemre?",
    "id": "Bagaimana cara memasang server di komputer saya?",
    "it": "Come posso installare il server sul mio computer?",
    "ja": "サーバーをインストールする方法を教えてください", "ko": "서버를 어떻게 설치합니까?",
    "nl": "Hoe kan ik de server op mijn computer installeren?",
    "no": "Hvordan kan jeg installere serveren på datamaskinen min?",
    "pl": "Jak zainstalować serwer na moim komputerze i go uruchomić?",
    "pt": "Como posso instalar o servidor no meu computador?",
    "ro": "Cum pot să instalez serverul pe calculatorul meu?",
    "ru": "Как установить сервер на мой компьютер?", "sv": "Hur kan jag installera servern på min dator?",
    "ta": "எனது கணினியில் சேவையகத்தை எவ்வாறு நிறுவுவது?",
    "th": "ฉันจะติดตั้งเซิร์ฟเวอร์บนคอมพิวเตอร์ของฉันได้อย่างไร",
    "tr": "Sunucuyu bilgisayarıma nasıl kurabilirim ve başlatabilirim?",
    "uk": "Як встановити сервер на мій комп'ютер?",
    "vi": "Làm thế nào để cài đặt máy chủ trên máy tính của tôi?", "zh": "如何在我的电脑上安装服务器？",
}  # fmt: skip
ENGLISH_QUERIES = [
    "How many points did the Panthers defense surrender?",
    "0-dimensional biomaterials show inductive properties.",
    "1,000 genomes project enables mapping of genetic sequence variation consisting of rare variants.",
    "measurement of dielectric constant of liquids by the use of microwave techniques",
    "what similarity laws must be obeyed when constructing aeroelastic models of aircraft .",
    "python check if a variable is iterable", "how to prevent a file from modifying python",
    "the α-synuclein and NF-κB pathways of β-cells", "replication lag", "install",
]  # fmt: skip
NAMES = [
    "rateLimit", "getUserById", "RATE_LIMIT_TRUSTED_PROXY_HOPS", "kebab.stack.paths", "src/content/docs",
    "std::vector<int>::push_back()", "@angular/core", "next.js 15.1", "C++", "404", "--no-embed",
]  # fmt: skip


def test_foreign_question_is_outside_the_languages_of_an_english_model(subtests):
    for language in QUESTIONS:
        for known_share in (None, 0.0, 0.5):
            with subtests.test(language=language, known_share=known_share):
                assert not knows_language(ENGLISH, QUESTIONS[language], known_share)
    for language in sorted(QUESTIONS.keys() - {"no", "pl"}):  # they have one function word too few
        with subtests.test(language=language):
            assert not knows_language(ENGLISH, QUESTIONS[language], 1.0)
    assert knows_language(ENGLISH, "how does kana あ differ from romaji in the input method")
    assert not knows_language(ENGLISH, "FastAPI 部署指南")
    assert not knows_language(ENGLISH, "如何处理登录流程 AuthService")
    for text in ["Fenster Reinigung", "Projektkonfiguration", "replication", "rateLimit"]:
        with subtests.test(text=text):
            assert knows_language(ENGLISH, text, MOSTLY_KNOWN)
            assert not knows_language(ENGLISH, text, HARDLY_KNOWN)


def test_short_query_is_supported_unless_few_documents_are():
    for text in ["invoice", "Urlaub beantragen", "où est le", "die Art"]:
        assert knows_language(ENGLISH, text, 0.5)
        assert knows_language(ENGLISH, text)
        assert not knows_language(ENGLISH, text, HARDLY_KNOWN)
    assert not knows_language(ENGLISH, "wo beantrage ich meinen Urlaub", 0.5)


def test_english_queries_and_names_are_supported_by_an_english_model(subtests):
    for text in ENGLISH_QUERIES:
        for known_share in (None, 0.5, 1.0):
            with subtests.test(text=text, known_share=known_share):
                assert knows_language(ENGLISH, text, known_share)
    for text in NAMES:
        for known_share in (None, 0.07, 1.0):
            with subtests.test(text=text, known_share=known_share):
                assert knows_language(ENGLISH, text, known_share)
    for text in ["", " ", "!?", "\x00", "\ud800", "\U000e0001", "a" * 100_000]:
        with subtests.test(text=text):
            assert knows_language(ENGLISH, text)
    assert knows_language(ENGLISH, "How many points did the Panthers defense surrender?", 0.0)


def test_model_knows_its_own_languages(subtests):
    for language in sorted(QUESTIONS.keys() - {"da"}):  # it reads as Norwegian
        with subtests.test(language=language):
            assert knows_language(model("en", language), QUESTIONS[language])
            assert knows_language(model(ANY_LANGUAGE), QUESTIONS[language], 0.0)
    assert not knows_language(model("de", "fr"), "How many points did the Panthers defense surrender?")
    assert not knows_language(model("ru"), "how to install the server")
    assert not knows_language(model(), "How many points did the Panthers defense surrender?")


@given(st.text(max_size=200), st.none() | st.floats(0, 1))
def test_any_text_has_an_answer(text, known_share):
    assert knows_language(ENGLISH, text, known_share) in {True, False}


@pytest.mark.parametrize(
    ("text", "guess", "certain"),
    [
        ("Wie lange kann man Ware zurückgeben?", "de", "de"), ("退款政策", "zh", None), ("返金", "ja", None),
        ("VPN gateway", None, None), ("", None, None), ("\x00", None, None),
    ],
)  # fmt: skip
def test_language_of_a_query_is_guessed(text, guess, certain):
    assert (guess_language(text), guess_language(text, is_certain=True)) == (guess, certain)
