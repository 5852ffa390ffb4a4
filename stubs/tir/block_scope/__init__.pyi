"""`tvms.tir.block_scope`. Generated from the declarations; do not edit."""

from tvms.tir import *
