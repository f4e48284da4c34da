"""Grammar of PHP, with the HTML around it."""

from ingest.parsers.syntax.grammar import Grammar, children_of


def _php_language() -> object:
    from tree_sitter_php import language_php

    return language_php()


PHP = Grammar(
    load=_php_language,
    query="""
    (namespace_definition body: (_)) @namespace
    (class_declaration) @class
    (interface_declaration) @interface
    (trait_declaration) @trait
    (enum_declaration) @enum
    (function_definition) @function
    (method_declaration) @method
    (comment) @leading
    """
    + children_of(
        "program",
        "compound_statement",
        "declaration_list",
        "enum_declaration_list",
        "switch_block",
        "case_statement",
        "array_creation_expression",
    ),
)
