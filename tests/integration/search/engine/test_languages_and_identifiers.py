"""Search in any language and for names, with the right words highlighted."""

import pytest

from kebab.people.workspaces import store_settings
from search.retrieval.types import Mode
from tests.integration.search.corpus.highlight_examples import EXAMPLES
from tests.support.corpus import chunk, write, write_each
from tests.support.search import ask, embed, paths, sync


def highlighted_words(hit):
    return [hit.snippet[start:end] for start, end in hit.highlights]


def test_words_of_any_language_are_found_and_marked(workspace, subtests):
    for number, (_, text, _) in enumerate(EXAMPLES):
        write(workspace, f"{number}/held.md", text)
    write(workspace, "other.md", "unrelated 無関係 관계없는")
    write(workspace, "a.md", chunk("nothing of it", heading="部署指南 > rateLimit"))
    sync(workspace)
    for number, (query, _, highlights) in enumerate(EXAMPLES):
        with subtests.test(query=query):
            (hit,) = ask(workspace, query, path_glob=(f"{number}/*", "other.md")).hits
            assert (hit.doc_path, highlighted_words(hit)) == (f"{number}/held.md", highlights)
    for query in ("指南", "limit"):
        with subtests.test("in a heading", query=query):
            assert paths(ask(workspace, query, path_glob=("a.md",))) == ["a.md"]


def test_cpp_ranks_above_a_lone_letter_c(workspace):
    write(workspace, "vitamin.md", "c " * 30)
    write(workspace, "language.md", "templates of C++ take a while to learn and longer to master")
    sync(workspace)
    result = ask(workspace, "C++")
    assert paths(result) == ["language.md", "vitamin.md"]
    assert [hit.retrieval.tier for hit in result.hits] == ["all", "some"]


def test_whole_name_comes_before_its_parts(workspace):
    write(workspace, "parts.md", "rate limit rate limit")
    write(workspace, "whole.md", "a text that has the name rateLimit somewhere among other words")
    sync(workspace)
    assert paths(ask(workspace, "rateLimit")) == ["whole.md", "parts.md"]
    assert sorted(paths(ask(workspace, "rate_limit"))) == ["parts.md", "whole.md"]


def test_chinese_query_is_relaxed_into_character_pairs(workspace):
    write(workspace, "part.md", "设定好方法")
    write(workspace, "whole.md", "如何设定部署方法的说明文档在这里")
    sync(workspace)
    result = ask(workspace, "设定部署方法")
    assert paths(result) == ["whole.md", "part.md"]
    assert [highlighted_words(hit) for hit in result.hits] == [["设定部署方法"], ["设定", "方法"]]


def test_question_in_another_language_is_answered_by_other_forms(workspace):
    write(workspace, "de.md", "Die Brücke wurde von den Häusern aus gebaut und ist sehr lang")
    write_each(workspace, ["Das ist ein Text von der Bank und von dem Geld"] * 3)
    sync(workspace)
    hit = ask(workspace, "Wo sind die Häuser und die Brücken?").hits[0]
    assert (hit.doc_path, highlighted_words(hit)) == ("de.md", ["Brücke", "Häusern"])


def test_hit_of_the_vector_leg_alone_has_highlights(workspace, subtests):
    write(workspace, "a.md", "filler " * 100 + "rateLimit 部署指南 next.js " + "filler " * 100)
    sync(workspace)
    embed(workspace)
    for query, highlight in (("limits", "Limit"), ("部署", "部署"), ("署", "署"), ("next.js", "next.js")):
        with subtests.test(query=query):
            (hit,) = ask(workspace, query, Mode.VECTOR).hits
            assert highlighted_words(hit) == [highlight]


@pytest.mark.parametrize(
    ("is_stemmed", "expected"), [(True, ["installed", "installing"]), (False, ["installing"])]
)
def test_hits_of_every_mode_mark_what_the_index_finds_with_and_without_stemming(
    workspace, is_stemmed, expected
):
    store_settings(workspace, {"stemming": is_stemmed})
    workspace.refresh_from_db()
    write(workspace, "guide.md", "He installed it, and installing it was easy.")
    sync(workspace)
    embed(workspace)
    for mode in Mode:
        assert highlighted_words(ask(workspace, "installing", mode).hits[0]) == expected


def test_single_word_is_found_by_the_stems_of_the_documents_languages(workspace, subtests):
    texts = {
        "de.md": "Die Kündigung muss schriftlich sein, und das Haus bleibt nicht leer.",
        "fr.md": "Le cheval de bois est pour les enfants et le journal est dans le bureau.",
        "sv.md": "Avtalet är giltigt och fakturan är betald, men nycklarna ligger på kontoret.",
        "it.md": "Il contratto è valido per un anno e le fatture sono nella cartella.",
        "cs.md": "Tato smlouva je platná a faktura byla odeslána do kanceláře, ale ne včas.",
        "he.md": "הסכם השכירות של המשרד נמצא בתיקייה של החברה",
    }
    for path, text in texts.items():
        write(workspace, path, text, lang=path.removesuffix(".md"))
    sync(workspace)
    cases = [
        ("Kündigungen", "de.md", ["Kündigung"]), ("Häuser", "de.md", ["Haus"]),
        ("chevaux", "fr.md", ["cheval"]), ("journaux", "fr.md", ["journal"]),
        ("nyckel", "sv.md", ["nycklarna"]), ("fakturor", "sv.md", ["fakturan"]),
        ("משרד", "he.md", ["המשרד"]),
    ]  # fmt: skip
    for query, path, marked in cases:
        with subtests.test(query=query):
            result = ask(workspace, query)
            found = {hit.doc_path: highlighted_words(hit) for hit in result.hits}
            assert (found[path], result.lexical_total.relation) == (marked, "eq")
    result = ask(workspace, "fattura")
    assert (result.corrected_query, paths(result)[0]) == (None, "it.md")


def test_typed_accents_come_first(workspace, subtests):
    write(workspace, "name.md", "Dương, Dương và Dương: Thùy Dương, Dương Minh")
    write(
        workspace, "line.md", "Các đường truyền dự phòng của tòa nhà trong khu vực và các thiết bị mạng ở đó"
    )
    write(workspace, "tea.md", "Das Résumé hängt im Café aus. " + "Und noch vieles andere mehr. " * 8)
    write(workspace, "go.md", "resume resume resume: resume it")
    write_each(workspace, ["nothing of it"] * 6)
    sync(workspace)
    cases = [
        ("đường", ["line.md", "name.md"]), ("dương", ["name.md", "line.md"]),
        ("résumé", ["tea.md", "go.md"]),
    ]  # fmt: skip
    for query, expected in cases:
        with subtests.test(query=query):
            assert paths(ask(workspace, query)) == expected


def test_traditional_and_simplified_characters_find_each_other(workspace):
    write(workspace, "hant.md", "系統每週日凌晨維護")
    write(workspace, "hans.md", "停车场六点开门")
    sync(workspace)
    assert paths(ask(workspace, "系统")) == paths(ask(workspace, "系统维护")) == ["hant.md"]
    assert paths(ask(workspace, "停車場")) == ["hans.md"]


def test_star_stands_for_the_end_of_a_word(workspace, subtests):
    write(workspace, "housing.md", "Housing is paid for three months")
    write(workspace, "kube.md", "The Kubernetes upgrade of each node")
    write(workspace, "sv.md", "nycklarna ligger på kontoret")
    sync(workspace)
    cases = [
        ("hou*", ["housing.md"]), ("HOUS*", ["housing.md"]), ("kuber* upgrade", ["kube.md"]),
        ("nyck*", ["sv.md"]), ("hou* paid", ["housing.md"]), ("xyz*", []),
    ]  # fmt: skip
    for query, expected in cases:
        with subtests.test(query=query):
            assert paths(ask(workspace, query)) == expected
    assert highlighted_words(ask(workspace, "hou*").hits[0]) == ["Housing"]


def test_signs_are_found_as_people_type_them(workspace, subtests):
    write(workspace, "climate.md", "CO₂ fell by ½ tonne; 120 m² of panels, 5 µm dust, 10³ times")
    sync(workspace)
    for query in ("CO2", "1/2 tonne", "120 m2", "120m²", "120m2", "5um", "5 μm", "co₂ ½"):
        with subtests.test(query=query):
            assert ask(workspace, query).lexical_total.value == 1
