"""Operators and intrinsics: signature, struct info, meaning as a tensor expression, documentation."""
