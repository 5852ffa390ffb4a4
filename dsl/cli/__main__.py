"""`python -m tvms.dsl.cli`: the command `tvms` without its script on the path."""

from __future__ import annotations

import sys

from . import main

sys.exit(main())
