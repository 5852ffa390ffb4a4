"""The language server: `tvms lsp` (Language Server Protocol 3.18, by pygls). It never runs, compiles or loads what it shows."""
