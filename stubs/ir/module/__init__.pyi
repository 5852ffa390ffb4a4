"""`tvms.ir.module`. Generated from the declarations; do not edit."""

from tvms.ir import *
