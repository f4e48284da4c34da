(namespace_declaration) @namespace
(class_declaration) @class
(interface_declaration) @interface
(struct_declaration) @struct
(record_declaration) @record
(enum_declaration) @enum
(delegate_declaration) @delegate
(method_declaration) @method
(constructor_declaration) @constructor
(destructor_declaration) @destructor
(operator_declaration) @operator
(property_declaration) @property
(local_function_statement) @function
(comment) @leading

(compilation_unit (_) @statement)
(declaration_list (_) @statement)
(enum_member_declaration_list (_) @statement)
(block (_) @statement)
(switch_body (_) @statement)
(switch_section (_) @statement)
(accessor_list (_) @statement)
(initializer_expression (_) @statement)
