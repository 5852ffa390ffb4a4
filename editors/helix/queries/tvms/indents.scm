[
  (block)
  (call)
  (parameters)
  (list_display)
  (dict_display)
  (subscript)
] @indent

[")" "]" "}"] @outdent
