"""`tvms.relax.frontend.torch`. Generated from the declarations; do not edit."""

from tvms.dsl.importers.torch import dynamo_capture_subgraphs as dynamo_capture_subgraphs
from tvms.dsl.importers.torch import from_exported_program as from_exported_program
from tvms.dsl.importers.torch import from_fx as from_fx
from tvms.dsl.importers.torch import relax_dynamo as relax_dynamo
from tvms.dsl.importers.torch import sequences_of_any_length as sequences_of_any_length
