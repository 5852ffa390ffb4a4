"""Built-in intrinsics: texts, or functions that generate texts, of their descriptions and implementations."""
