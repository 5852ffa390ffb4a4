"""Texts of loop functions that attend, for processors and for GPUs; `attention` fills them in."""

from __future__ import annotations

from string import Template
from typing import NamedTuple


class Form(NamedTuple):
    """A text, the indentation of the statements that are inserted, and the name of the sum of a product of query and key."""

    text: Template
    place: str
    key: str
    query: str
    product: str


_TEXT = Template("""\
T.prim_func $name($params):
    T.func_attr({"tir.noalias": True, "tir.is_scheduled": True})
    entries = T.int32()
$buffers    output = T.match_buffer(var_output, ($q_rows, $q_heads, $v_dim), "$dtype")
    lse = T.match_buffer(var_lse, ($q_rows, $q_heads), "float32")
    for b in range(entries - 1):
        for h in T.parallel($kv_heads):
            kv_len: T.int32 = $kv_length
            first: T.int32 = $first
            q_len: T.int32 = $q_count
            with T.block("attention"):
                T.reads($reads)
                T.writes(output[0:$q_rows, h * $group:h * $group + $group, 0:$v_dim], lse[0:$q_rows, h * $group:h * $group + $group])
                keys = T.alloc_buffer(($rows, $qk_dim), "float32")
                values = T.alloc_buffer(($rows, $v_dim), "float32")
                scores = T.alloc_buffer(($rows,), "float32")
                query = T.alloc_buffer(($qk_dim,), "float32")
                parts = T.alloc_buffer(($lanes,), "float32")
                sums = T.alloc_buffer(($v_lanes,), "float32")
                top = T.alloc_buffer((1,), "float32")
                total = T.alloc_buffer((1,), "float32")
                for k in range(kv_len):
$place                    if rotary_mode == 1:
                        for d in range($qk_dim):
$key_bindings                            keys[k, d] = $rotated_key
                    else:
                        for d in range($qk_dim):
                            keys[k, d] = $key
                    for d in range($v_dim):
                        values[k, d] = $value
                for row in range(q_len):
                    visible: T.int32 = $visible
                    start: T.int32 = $start
                    for g in range($group):
                        for d in range($qk_dim):
                            if rotary_mode == 1:
$query_bindings                                query[d] = $rotated_query
                            else:
                                query[d] = $query
                        top[0] = T.float32(-50000)
                        for k in range(start, visible):
                            for lane in T.vectorized($lanes):
                                parts[lane] = T.float32(0)
                            for part in range($qk_parts):
                                for lane in T.vectorized($lanes):
                                    parts[lane] = parts[lane] + query[part * $lanes + lane] * keys[k, part * $lanes + lane]
                            total[0] = T.float32(0)
                            for lane in range($lanes):
                                total[0] = total[0] + parts[lane]
                            scores[k] = $score
                            top[0] = T.max(top[0], scores[k])
                        total[0] = T.float32(0)
                        for k in range(start, visible):
                            scores[k] = T.exp2(scores[k] - top[0])
                            total[0] = total[0] + scores[k]
                        if start >= visible:
                            total[0] = T.float32(1)
                        for part in range($v_parts):
                            for lane in T.vectorized($v_lanes):
                                sums[lane] = T.float32(0)
                            for k in range(start, visible):
                                for lane in T.vectorized($v_lanes):
                                    sums[lane] = sums[lane] + scores[k] * values[k, part * $v_lanes + lane]
                            for lane in T.vectorized($v_lanes):
                                output[first + row, h * $group + g, part * $v_lanes + lane] = T.Cast("$dtype", sums[lane] / total[0])
                        lse[first + row, h * $group + g] = top[0] + T.log2(total[0])
""")
"""One thread for each head of keys: gathers keys and values, and then attends with one query after the other."""

_GPU_TEXT = Template("""\
T.prim_func $name($params):
    T.func_attr({"tir.noalias": True, "tir.is_scheduled": True})
    entries = T.int32()
$buffers    output = T.match_buffer(var_output, ($q_rows, $q_heads, $v_dim), "$dtype")
    lse = T.match_buffer(var_lse, ($q_rows, $q_heads), "float32")
    for b in T.thread_binding(entries - 1, thread="blockIdx.x"):
        for h in T.thread_binding($kv_heads, thread="blockIdx.y"):
            for t in T.thread_binding($threads, thread="threadIdx.x"):
                kv_len: T.int32 = $kv_length
                first: T.int32 = $first
                q_len: T.int32 = $q_count
                for i in range((q_len * $group + $threads - 1) // $threads):
                    if i * $threads + t < q_len * $group:
                        row: T.int32 = (i * $threads + t) // $group
                        g: T.int32 = (i * $threads + t) % $group
                        with T.block("attention"):
                            T.reads($reads)
                            T.writes(output[0:$q_rows, 0:$q_heads, 0:$v_dim], lse[0:$q_rows, 0:$q_heads])
                            query = T.alloc_buffer(($qk_dim,), "float32", scope="local")
                            sums = T.alloc_buffer(($v_dim,), "float32", scope="local")
                            state = T.alloc_buffer((4,), "float32", scope="local")
                            for d in range($qk_dim):
                                if rotary_mode == 1:
$query_bindings                                    query[d] = $rotated_query
                                else:
                                    query[d] = $query
                            for d in range($v_dim):
                                sums[d] = T.float32(0)
                            state[0] = T.float32(-50000)
                            state[1] = T.float32(0)
                            for k in range($start, $visible):
$place                                state[2] = T.float32(0)
                                for d in range($qk_dim):
                                    if rotary_mode == 1:
$key_bindings                                        state[2] = state[2] + query[d] * ($rotated_key)
                                    else:
                                        state[2] = state[2] + query[d] * $key
                                state[2] = $score
                                state[3] = T.max(state[0], state[2])
                                state[0] = T.exp2(state[0] - state[3])
                                state[2] = T.exp2(state[2] - state[3])
                                state[1] = state[1] * state[0] + state[2]
                                for d in range($v_dim):
                                    sums[d] = sums[d] * state[0] + state[2] * $value
                                state[0] = state[3]
                            if state[1] == T.float32(0):
                                state[1] = T.float32(1)
                            for d in range($v_dim):
                                output[first + row, h * $group + g, d] = T.Cast("$dtype", sums[d] / state[1])
                            lse[first + row, h * $group + g] = state[0] + T.log2(state[1])
""")
"""One thread for each query, which keeps the maximum, the sum and the weighted values of the scores so far in registers."""

THREADS = 64
"""The number of threads of a block of a GPU."""
CPU = Form(_TEXT, " " * 20, " " * 28, " " * 32, "total[0]")
GPU = Form(_GPU_TEXT, " " * 32, " " * 40, " " * 36, "state[2]")
