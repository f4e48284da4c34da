; of JavaScript and TypeScript
(class_declaration) @class
(variable_declarator value: (class)) @class
(function_declaration) @function
(generator_function_declaration) @function
(variable_declarator name: (identifier)
  value: [(arrow_function) (function_expression) (generator_function)]) @function
(assignment_expression right: [(arrow_function) (function_expression) (generator_function)]) @function
(method_definition) @method
(pair value: [(arrow_function) (function_expression) (generator_function)]) @method
(export_statement [
  (class_declaration) (function_declaration) (generator_function_declaration)]) @wrapper
(comment) @leading

(program (_) @statement)
(statement_block (_) @statement)
(class_body (_) @statement)
(switch_body (_) @statement)
(switch_case (_) @statement)
(object (_) @statement)
(array (_) @statement)
