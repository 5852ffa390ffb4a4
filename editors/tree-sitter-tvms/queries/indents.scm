; Captures of Neovim; those of Helix and Zed are in editors/helix and editors/zed.
[
  (module)
  (class_with_bases)
  (function)
  (generic_function)
  (for_statement)
  (while_statement)
  (if_statement)
  (with_statement)
  (call)
  (parameters)
  (list_display)
  (dict_display)
  (subscript)
] @indent.begin

[(elif_branch) (else_branch)] @indent.branch
[")" "]" "}"] @indent.branch
(return_statement) @indent.dedent
