[(source_file) (module) (class_with_bases) (function) (generic_function) (lambda_expression)] @local.scope

(parameter name: (identifier) @local.definition.variable.parameter)
(annotated_parameter name: (identifier) @local.definition.variable.parameter)
(default_parameter name: (identifier) @local.definition.variable.parameter)
(annotated_default_parameter name: (identifier) @local.definition.variable.parameter)
(function name: (identifier) @local.definition.function)
(generic_function name: (identifier) @local.definition.function)
(module name: (identifier) @local.definition.type)
(class_with_bases name: (identifier) @local.definition.type)

(assign . (identifier) @local.definition.variable)
(assign . (bare_tuple (identifier) @local.definition.variable))
(annotated_assign . (identifier) @local.definition.variable)
(for_statement . (identifier) @local.definition.variable)
(for_statement . (bare_tuple (identifier) @local.definition.variable))
(context_as (identifier) @local.definition.variable .)

(identifier) @local.reference
