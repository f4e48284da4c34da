"""Titles and file names are recognised as people type them."""

from search.retrieval.query.titles import (
    breadcrumb_of,
    indexed_headings,
    label,
    title_key,
    title_keys,
)


def test_query_equals_a_title_whatever_its_case_accents_and_punctuation():
    assert (
        title_key("Première étape: « Départ »")
        == title_key("premiere etape depart")
        == "premiere etape depart"
    )
    assert title_key("部署指南") == "部署指南"
    assert title_key("---") == ""


def test_query_may_be_a_file_name_with_its_extension_or_without():
    assert title_keys("Travel Costs (EMEA).docx") == ("travel costs emea docx", "travel costs emea")
    assert title_keys("travel costs") == ("travel costs",)
    assert title_keys("What is v1.2 for? etc.") == ("what is v1 2 for etc",)
    assert title_keys("?") == title_keys("x" * 301) == ()


def test_words_with_a_number_and_unfinished_ones_may_be_the_beginning_of_a_title():
    labels = [label(query) for query in ("ADR 2", "adr-0002", "sprint 14 retro", "INC: 482")]
    assert labels == ["adr 2 ", "adr 0002 ", "sprint 14 retro ", "inc 482 "]
    assert {label(query) for query in ("2024", "travel costs", "v2 api", "", "x 1" * 101)} == {""}
    unfinished = [label(query, is_unfinished=True) for query in ("Travel co", "adr 2", "2024", "", "x" * 301)]
    assert unfinished == ["travel co", "adr 2 ", "", "", ""]


def test_path_is_indexed_below_the_breadcrumb_once():
    headings = indexed_headings("Guide > Install", "docs/install.md")
    assert headings.split("\n") == ["Guide > Install", "docs/install.md"]
    assert breadcrumb_of(headings) == breadcrumb_of("Guide > Install") == "Guide > Install"
    assert indexed_headings("lib/a.py > class A", "lib/a.py") == "lib/a.py > class A"
