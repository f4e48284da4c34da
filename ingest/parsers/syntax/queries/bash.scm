(function_definition) @function
(comment) @leading

(program (_) @statement)
(compound_statement (_) @statement)
(do_group (_) @statement)
(if_statement (_) @statement)
(elif_clause (_) @statement)
(else_clause (_) @statement)
(case_statement (_) @statement)
(case_item (_) @statement)
(subshell (_) @statement)
