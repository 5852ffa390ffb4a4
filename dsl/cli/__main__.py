"""`python -m tvms.dsl.cli`: the command `tvms` where its script is not on the path."""

from __future__ import annotations

import sys

from . import main

sys.exit(main())
