"""The codes of all diagnostics: stable, each with a one-line title. Add at the end of its family; never reuse one.

E00 reading and syntax · E01 names and scopes · E02 loop-level forms · E03 graph-level forms and struct info ·
E04 the law of the IR (verifier) · E05 schedules · E06 compilation · E07 calls and run time · E08 the command line.
"""

from __future__ import annotations

CODES: dict[str, str] = {
    "E0001": "the file cannot be read",
    "E0002": "the text is not valid UTF-8",
    "E0003": "the text holds a NUL character",
    "E0004": "the text holds no definition",
    "E0005": "a character that starts no token",
    "E0006": "a string that is not closed",
    "E0007": "indentation that fits no enclosing block",
    "E0008": "unexpected token",
    "E0009": "a bracket that is not closed, or closes nothing",
    "E0010": "a limit of the language is exceeded",
    "E0101": "a name that is not defined",
    "E0102": "a function that the module does not have",
    "E0103": "an attribute or a form that does not exist",
    "E0104": "two functions of the same name",
}
