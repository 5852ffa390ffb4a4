"""`tvms.relax.block_builder`. Generated from the declarations; do not edit."""

from tvms.ir.building.block_builder import BlockBuilder as BlockBuilder
from tvms.ir.building.block_builder import Branch as Branch
