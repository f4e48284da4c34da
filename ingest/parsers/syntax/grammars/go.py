"""Grammar of Go."""

from ingest.parsers.syntax.grammar import Grammar, children_of


def _go_language() -> object:
    from tree_sitter_go import language

    return language()


GO = Grammar(
    load=_go_language,
    query="""
    (function_declaration) @function
    (method_declaration) @method
    (type_spec type: (struct_type)) @struct
    (type_spec type: (interface_type)) @interface
    (comment) @leading
    """
    + children_of(
        "source_file",
        "block",
        "statement_list",
        "const_declaration",
        "var_declaration",
        "var_spec_list",
        "type_declaration",
        "import_spec_list",
        "field_declaration_list",
        "interface_type",
        "literal_value",
        "expression_switch_statement",
        "type_switch_statement",
        "select_statement",
    ),
)
