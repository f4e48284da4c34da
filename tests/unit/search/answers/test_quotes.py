"""Quotes of a passage: sentences, and what belongs to them."""

import pytest

from search.answers.quotes import Origin, split_quotes
from search.answers.sentences import split_sentences

SENTENCES = [
    ("en", ["Our officer (DPO) is Dr. Ada Weiss.", "Write to her."]),
    ("en", ["Use e.g. Docker, approx. 5 GB, see No. 7 and Fig. 3.", "J. R. Tolkien did."]),
    ("en", ["The U.S. Army met at 5 p.m. on Monday.", "Is it?", "Yes!"]),
    ("de", ["Das gilt ab dem 1. März, z. B. für den 3. Stock, d. h. § 5 Abs. 2 BUrlG.", "Dr. Kunz hilft."]),
    ("de", ["Ca. 5 Tage bzw. max. 8, vgl. Nr. 7 dazu.", "Danach ist Schluss."]),
    ("fr", ["Voir M. Dupont, Mme. Petit ou le Dr. Roux, p. ex. lundi.", "Oui."]),
    ("und", ["これはテストです。", "次の文。"]),
]
DEPLOY = """We deploy daily.

## Rollback

```console
$ kubectl undo web
```

For migrations see [here](migrations.md). Never on a Friday.
"""
CODE = '''import this


@dataclass
class Invoice:
    """A bill."""

    total: int


def overdue(
    today: date,
) -> bool:
    return today > self.due
'''


def quotes(text, path="a.md", **fields):
    return list(split_quotes(text, Origin(path=path, title="Title", **fields)))


@pytest.mark.parametrize(("language", "sentences"), SENTENCES)
def test_sentences_do_not_end_at_abbreviations(language, sentences):
    found = split_sentences(" ".join(sentences), language)
    assert [each.strip() for each in found] == sentences


def test_code_under_a_heading_is_quoted_with_it_and_with_the_sentence_below():
    found = quotes(DEPLOY)
    code = "```console\n$ kubectl undo web\n```"
    assert [(each.lead, each.block) for each in found] == [
        ("We deploy daily.", ""),
        ("Rollback", code),
        ("Rollback", f"{code}\n\nFor migrations see here."),
        ("For migrations see here.", ""),
        ("Never on a Friday.", ""),
    ]


@pytest.mark.parametrize(
    ("text", "path", "lead", "block"),
    [
        ("Say hello. Install it:\n\n    pip install x\n", "a.md", "Install it:", "```\npip install x\n```"),
        ("Install it::\n\n    pip install x\n", "a.rst", "Install it:", "```\npip install x\n```"),
        (
            "Do so:\n\n.. code-block:: bash\n\n   ls\n",
            "a.rst",
            "Do so:",
            "```bash\nls\n```",
        ),
        ("You need:\n\n- a key\n- a\n  lock\n", "a.md", "You need:", "- a key\n- a\n  lock"),
        ("Week one\n\n1. Come.\n2. Go.\n", "a.docx", "Week one", "1. Come.\n2. Go."),
    ],
)
def test_code_and_lists_are_quoted_with_their_introduction(text, path, lead, block):
    found = quotes(text, path)[-1]
    assert (found.lead, found.block) == (lead, block)
    assert " ".join(found.verbatim.split()) in " ".join(text.split())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**Note. You get *five* days.** No more.", ["Note.", "You get *five* days.", "No more."]),
        ("It is __not__ `2**8`, but 2**9 of a__b__c.", ["It is not `2**8`, but 2**9 of a__b__c."]),
        ("| **A** |\n|---|\n| **1** `**kw` |", ["Title"]),
        ("You need:\n\n- **a key**\n- `**kw`", ["You need:"]),
    ],
)
def test_marks_of_emphasis_are_left_out_and_code_stays(text, shown):
    found = quotes(text)
    assert [each.lead for each in found] == shown
    assert "**" not in "".join(each.block for each in found).replace("`**kw`", "")


def test_long_list_is_quoted_by_its_items():
    items = [f"Point {number} of it" for number in range(30)]
    found = quotes("All:\n\n" + "\n".join(f"- {item}" for item in items))
    assert [each.lead for each in found] == ["All:", *items]


@pytest.mark.parametrize(
    ("text", "path", "headings"),
    [
        ("| Plan | Price |\n|---|---|\n| Free | 0 |\n| Team | 19 |\n", "a.md", ()),
        ("Plan | Price\nFree | 0\nTeam | 19", "a.docx", ()),
        ("Free,0\nTeam,19", "a.csv", ("Plan | Price",)),
    ],
)
def test_row_is_quoted_below_the_head_of_its_table(text, path, headings):
    (table,) = quotes(text, path, headings=headings)
    free, team = table.rows
    assert table.block == "| Plan | Price |\n|---|---|\n| Free | 0 |\n| Team | 19 |"
    assert free.block == "| Plan | Price |\n|---|---|\n| Free | 0 |"
    assert team.verbatim in text
    assert "Plan" not in team.verbatim


def test_code_is_quoted_by_signature_and_documentation():
    found = [each.verbatim for each in quotes(CODE, "a.py", code_lang="python")]
    assert found[:2] == [
        '@dataclass\nclass Invoice:\n    """A bill."""',
        "def overdue(\n    today: date,\n) -> bool:",
    ]
    assert all(each in CODE for each in found)


def test_headings_are_quoted_only_where_there_is_nothing_else():
    assert [each.lead for each in quotes("## Root cause\n\n## Impact")] == ["Root cause", "Impact"]
    assert [each.lead for each in quotes("Intro\n=====\n\nIt is so.", "a.rst")] == ["It is so."]
