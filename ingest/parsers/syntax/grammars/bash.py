"""Grammar of shell scripts."""

from ingest.parsers.syntax.grammar import Grammar, children_of


def _bash_language() -> object:
    from tree_sitter_bash import language

    return language()


BASH = Grammar(
    load=_bash_language,
    query="""
    (function_definition) @function
    (comment) @leading
    """
    + children_of(
        "program",
        "compound_statement",
        "do_group",
        "if_statement",
        "elif_clause",
        "else_clause",
        "case_statement",
        "case_item",
        "subshell",
    ),
)
