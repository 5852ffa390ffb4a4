"""`tvms.relax.op.linalg`. Generated from the declarations; do not edit."""

import tvms.ir.relax
def det(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the determinants of the square matrices in the last two dimensions."""
def inv(x: tvms.ir.relax.Expr) -> tvms.ir.relax.Expr:
    """Return the inverses of the square matrices in the last two dimensions; a singular matrix is an error."""
from tvms.relax.op.linalg import linalg as linalg
