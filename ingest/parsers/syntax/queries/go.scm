(function_declaration) @function
(method_declaration) @method
(type_spec type: (struct_type)) @struct
(type_spec type: (interface_type)) @interface
(comment) @leading

(source_file (_) @statement)
(block (_) @statement)
(statement_list (_) @statement)
(const_declaration (_) @statement)
(var_declaration (_) @statement)
(var_spec_list (_) @statement)
(type_declaration (_) @statement)
(import_spec_list (_) @statement)
(field_declaration_list (_) @statement)
(interface_type (_) @statement)
(literal_value (_) @statement)
(expression_switch_statement (_) @statement)
(type_switch_statement (_) @statement)
(select_statement (_) @statement)
