"""`tvms.relax.backend.blas`. Generated from the declarations; do not edit."""

from tvms.ir.backend.blas import DTYPES as DTYPES
from tvms.ir.backend.blas import EPILOGUES as EPILOGUES
from tvms.ir.backend.blas import Epilogue as Epilogue
from tvms.ir.backend.blas import patterns as patterns
