"""`python -m tvms` is the command `tvms`."""

from __future__ import annotations

import sys

from .dsl.cli import main

sys.exit(main())
