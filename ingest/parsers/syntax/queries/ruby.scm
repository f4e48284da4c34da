(module) @module
(class) @class
(method) @method
(singleton_method) @method
(comment) @leading

(program (_) @statement)
(body_statement (_) @statement)
(block_body (_) @statement)
(then (_) @statement)
(else (_) @statement)
(begin (_) @statement)
(ensure (_) @statement)
(rescue (_) @statement)
(case (_) @statement)
(do (_) @statement)
(array (_) @statement)
(hash (_) @statement)
