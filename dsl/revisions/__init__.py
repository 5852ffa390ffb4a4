"""Revisions of a text: its concrete tree of statements, differences between two revisions, and the merge of three."""
