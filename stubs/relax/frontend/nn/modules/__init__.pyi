"""`tvms.relax.frontend.nn.modules`. Generated from the declarations; do not edit."""

from tvms.ir.nn.modules import Attention as Attention
from tvms.ir.nn.modules import Conv1D as Conv1D
from tvms.ir.nn.modules import Conv2D as Conv2D
from tvms.ir.nn.modules import Conv3D as Conv3D
from tvms.ir.nn.modules import ConvTranspose1D as ConvTranspose1D
from tvms.ir.nn.modules import Embedding as Embedding
from tvms.ir.nn.modules import GELU as GELU
from tvms.ir.nn.modules import GroupNorm as GroupNorm
from tvms.ir.nn.modules import IOEffect as IOEffect
from tvms.ir.nn.modules import Identity as Identity
from tvms.ir.nn.modules import KVCache as KVCache
from tvms.ir.nn.modules import LayerNorm as LayerNorm
from tvms.ir.nn.modules import Linear as Linear
from tvms.ir.nn.modules import RMSNorm as RMSNorm
from tvms.ir.nn.modules import ReLU as ReLU
from tvms.ir.nn.modules import SiLU as SiLU
from tvms.ir.nn.modules import TimestepEmbedding as TimestepEmbedding
from tvms.ir.nn.modules import Timesteps as Timesteps
