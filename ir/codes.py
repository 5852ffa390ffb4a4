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
    "E0011": "an escape that means nothing",
    "E0012": "a number that cannot be read",
    "E0013": "a form of Python that is not part of the language",
    "E0014": "a head without a body",
    "E0015": "an expression that nothing can be assigned to",
    "E0016": "a decorator that decorates nothing",
    "E0101": "a name that is not defined",
    "E0102": "a function that the module does not have",
    "E0103": "an attribute or a form that does not exist",
    "E0104": "two functions of the same name",
    "E0230": "operands whose dtypes do not go together",
    "E0231": "a value that its dtype cannot hold",
    "E0232": "a division by a constant zero",
    "E0233": "an operand of a dtype that the operator does not take",
    "E0234": "an intrinsic with the wrong number of arguments",
    "E0235": "a buffer access with the wrong number of indices",
    "E0701": "the wrong number of arguments",
    "E0702": "an argument of the wrong kind",
    "E0703": "a value of the wrong dtype",
    "E0704": "a value of the wrong rank",
    "E0705": "a value of the wrong shape",
    "E0706": "an array whose memory is not laid out as its buffer says",
    "E0707": "an index outside its buffer",
    "E0708": "a division by zero",
    "E0709": "a variable that has no value",
    "E0710": "a read of memory that was never written",
    "E0711": "an assertion that does not hold",
    "E0712": "a form or an intrinsic that cannot be executed",
    "E0713": "a block iterator outside its domain",
    "E0714": "a barrier that not all threads of a block reach",
    "E0715": "an external function that is not registered",
    "E0716": "calls that nest too deep",
}
