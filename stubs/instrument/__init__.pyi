"""`tvms.instrument`. Generated from the declarations; do not edit."""

from tvms.ir.passes.instrument import PassInfo as PassInfo
from tvms.ir.passes.instrument import PassInstrument as PassInstrument
from tvms.ir.passes.instrument import PassTimingInstrument as PassTimingInstrument
from tvms.ir.passes.instrument import PrintAfterAll as PrintAfterAll
from tvms.ir.passes.instrument import PrintBeforeAll as PrintBeforeAll
from tvms.ir.passes.instrument import VerifyEach as VerifyEach
from tvms.ir.passes.instrument import breaches as breaches
from tvms.ir.passes.instrument import pass_instrument as pass_instrument
