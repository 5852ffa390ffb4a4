"""`tvms.relax.testing.transform`. Generated from the declarations; do not edit."""

from tvms.ir.api.relax.testing.transform import ApplyEmptyCppMutator as ApplyEmptyCppMutator
