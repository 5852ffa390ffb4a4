"""`tvms.contrib.utils`. Generated from the declarations; do not edit."""

from tvms.ir.api.contrib.utils import TempDirectory as TempDirectory
from tvms.ir.api.contrib.utils import tempdir as tempdir
from tvms.ir.api.contrib.utils import which as which
