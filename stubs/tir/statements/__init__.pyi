"""`tvms.tir.statements`. Generated from the declarations; do not edit."""

from tvms.ir.tir import Allocate as Allocate
from tvms.ir.tir import AllocateConst as AllocateConst
from tvms.ir.tir import AssertStmt as AssertStmt
from tvms.ir.tir import AttrStmt as AttrStmt
from tvms.ir.tir import Block as Block
from tvms.ir.tir import BlockRealize as BlockRealize
from tvms.ir.tir import BufferRealize as BufferRealize
from tvms.ir.tir import BufferRegion as BufferRegion
from tvms.ir.tir import BufferStore as BufferStore
from tvms.ir.tir import DeclBuffer as DeclBuffer
from tvms.ir.tir import Evaluate as Evaluate
from tvms.ir.tir import For as For
from tvms.ir.tir import IfThenElse as IfThenElse
from tvms.ir.tir import LetStmt as LetStmt
from tvms.ir.tir import MatchBufferRegion as MatchBufferRegion
from tvms.ir.tir import PrimFunc as PrimFunc
from tvms.ir.tir import ProducerRealize as ProducerRealize
from tvms.ir.tir import ProducerStore as ProducerStore
from tvms.ir.tir import SeqStmt as SeqStmt
from tvms.ir.tir import While as While
from tvms.ir.api.tir.statements import decl_buffer as decl_buffer
from tvms.ir.api.tir.statements import is_buffer_var as is_buffer_var
from tvms.ir.api.tir.statements import stmt_list as stmt_list
from tvms.ir.api.tir.statements import stmt_seq as stmt_seq
from tvms.ir.api.tir.statements import vscale as vscale
