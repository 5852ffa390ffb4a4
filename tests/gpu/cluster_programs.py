"""Programs of clusters of blocks, and of warps with different roles."""

from __future__ import annotations

SHARED_BOXES = """
T.prim_func main(A: T.Buffer((64, 256), "float16"), C: T.Buffer((4, 64, 64), "float16")):
    bx = T.launch_thread("blockIdx.x", 4)
    cx = T.launch_thread("clusterCtaIdx.x", 2)
    tx = T.launch_thread("threadIdx.x", 128)
    s = T.allocate([4096], "float16", "shared")
    s_1 = T.Buffer((4096,), "float16", data=s, scope="shared")
    T.create_barriers(2)
    if tx == 0:
        T.ptx_init_barrier_thread_count(0, 1)
        T.ptx_init_barrier_thread_count(1, 2)
    T.ptx_barrier_cluster_arrive()
    T.ptx_barrier_cluster_wait()
    for step in range(4):
        if tx == 0:
            T.ptx_arrive_barrier_expect_tx(0, 8192)
            T.ptx_arrive_barrier_remote(1, 1 - cx)
            T.ptx_arrive_barrier(1)
            T.ptx_wait_barrier(1, step % 2)
            T.ptx_cp_async_bulk_tensor_multicast("float16", s, cx * 2048, A.data, 64, 256, 256, cx * 32, step * 64, 32, 0, 3)
        T.ptx_wait_barrier(0, step % 2)
        if step == bx:
            for i in range(32):
                C[bx, tx // 2, tx % 2 * 32 + i] = s_1[tx * 32 + i]
        T.tvm_storage_sync("shared")
    T.ptx_barrier_cluster_arrive()
    T.ptx_barrier_cluster_wait()
"""
"""Each block of a cluster copies half of the rows of a box to both blocks; block `bx` stores box `bx`, in the order of shared memory."""

ROLES = """
T.prim_func main(A: T.Buffer((64, 256), "float16"), C: T.Buffer((64, 64), "float16")):
    tx = T.launch_thread("threadIdx.x", 256)
    s = T.allocate([8192], "float16", "shared")
    s_1 = T.Buffer((8192,), "float16", data=s, scope="shared")
    c = T.allocate([32], "float16", "local")
    c_1 = T.Buffer((32,), "float16", data=c, scope="local")
    e = T.allocate([128], "int32", "shared")
    e_1 = T.Buffer((128,), "int32", data=e, scope="shared")
    T.create_barriers(4)
    if tx == 0:
        for i in range(2):
            T.ptx_init_barrier_thread_count(i, 1)
            T.ptx_init_barrier_thread_count(i + 2, 128)
    T.tvm_storage_sync("shared")
    if tx < 128:
        T.ptx_setmaxnreg(False, 40)
        if tx == 0:
            for step in range(4):
                T.ptx_wait_barrier(step % 2 + 2, (step // 2 + 1) % 2)
                T.ptx_arrive_barrier_expect_tx(step % 2, 8192)
                T.ptx_cp_async_bulk_tensor("float16", s, step % 2 * 4096, A.data, 64, 256, 256, 0, step * 64, 64, step % 2)
    else:
        T.ptx_setmaxnreg(True, 232)
        for i in range(32):
            c_1[i] = T.float16(0)
        for step in range(4):
            T.ptx_wait_barrier(step % 2, step // 2 % 2)
            for i in range(32):
                c_1[i] = c_1[i] + s_1[step % 2 * 4096 + (tx - 128) * 32 + i]
            T.ptx_arrive_barrier(step % 2 + 2)
        e_1[tx - 128] = tx
        T.ptx_barrier_sync(1, 128)
        for i in range(32):
            C[(tx - 128) // 2, tx % 2 * 32 + i] = c_1[i] + T.Cast("float16", e_1[255 - tx] + tx - 383)
"""
"""The sums of four boxes: one thread copies them into two stages, a warpgroup adds them; each stage has a full and an empty barrier."""
