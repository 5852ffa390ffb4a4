"""Importers: from models of other frameworks to programs."""
