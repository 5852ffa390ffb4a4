"""The syntax, as data: the grammar, its tables, and the forms of the language."""
