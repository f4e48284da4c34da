"""Obsidian vaults: wiki links, embeds and tags."""

from ingest.exports.found import Exports
from ingest.parsers.registry import parse

NOTES = (
    ".obsidian/app.json",
    ".trash/old.md",
    "Projects/Alpha.md",
    "People/Ada.md",
    "Archive/People/Ada.md",
    "files/plan.png",
)
#: Link forms of Obsidian's help pages "Internal links" and "Embed files".
LINKS = {
    "[[Ada]]": "[Ada](../People/Ada.md)",
    "[[People/Ada|Countess]]": "[Countess](../People/Ada.md)",
    "[[Archive/People/Ada]]": "[Archive/People/Ada](../Archive/People/Ada.md)",
    "[[Ada#Early life]]": "[Ada > Early life](../People/Ada.md#early-life)",
    "[[Ada#^37066d]]": "[Ada](../People/Ada.md)",
    "[[#Goals]]": "[Goals](#goals)",
    "[[Nobody|somebody]]": "somebody",
    "![[plan.png|300]]": "![plan.png](../files/plan.png)",
    "![[Ada]]": "[Ada](../People/Ada.md)",
    r"| [[Ada\|A. L.]] |": "| [A. L.](../People/Ada.md) |",
    "`[[Ada]]`": "`[[Ada]]`",
}


def convert(text, path="Projects/Alpha.md", root=""):
    exports = Exports.find([root + each for each in NOTES])
    return exports.convert(root + path, text.encode()).decode()


def test_links_lead_to_documents(subtests):
    for written, expected in LINKS.items():
        with subtests.test(written):
            assert convert(written) == expected


def test_inline_tags_are_added_to_header_tags():
    header = "---\ntags: [plan]\naliases: [First]\n---\n"
    note = f"{header}# Alpha\n\nA #goal/now, no#tag, #1984.\n\n```\n#code [[Ada]]\n```\n"
    converted = convert(note)
    assert converted.startswith(note)

    document = parse(converted.encode(), "Projects/Alpha.md")
    assert (document.title, document.tags) == ("Alpha", ("plan", "goal/now"))
    assert document.metadata["aliases"] == ["First"]
    assert "fields" not in "\n".join(
        line
        for block in document.outline.blocks
        if block.kind != "front_matter"
        for line in document.outline.lines[block.span.start - 1 : block.span.end]
    )


def test_settings_and_deleted_notes_are_skipped():
    exports = Exports.find([f"vault/{path}" for path in (*NOTES, "../other.md")])
    places = dict(exports.place([f"vault/{path}" for path in NOTES] + ["other.md"]))
    assert places.pop("vault/.obsidian/app.json") == places.pop("vault/.trash/old.md") == "export_file"
    assert all(path == place for path, place in places.items())


def test_vault_below_a_folder_is_found():
    assert convert("[[Ada]]", root="notes/vault/") == "[Ada](../People/Ada.md)"
