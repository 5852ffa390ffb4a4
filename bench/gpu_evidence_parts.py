"""The parts of `bench/gpu_evidence.py`: each yields rows, and those with results say whether they are correct."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import tvms
from tvms.codegen.gpu.driver import find_driver, why_missing
from tvms.ir.numpy_dtype import numpy_dtype

KERNELS = Path(__file__).parent / "gpu_kernels"
Row: TypeAlias = dict[str, Any]
TOLERANCE = {"float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}
"""The largest difference of a result, relative to the largest value."""


class Machine:
    """Where kernels run; PTX is written to files whose names begin with `prefix` before it runs."""

    def __init__(self, is_simulated: bool, prefix: Path) -> None:
        self.is_simulated, self._prefix, self._count = is_simulated, prefix, 0
        if not is_simulated and why_missing():
            raise SystemExit(f"no usable GPU: {why_missing()}")
        self.target = "cuda -arch=sm_80 -simulate=random" if is_simulated else f"cuda -arch={find_driver().arch}"

    def size(self, size: int) -> int:
        """Return a size, or a small one if kernels are simulated."""
        return min(size, 64) if self.is_simulated else size

    def compile(self, text: str, bounds: str = "prove") -> Any:
        """Return the executable of a program, and keep its PTX."""
        module = tvms.parse(text)
        if not self.is_simulated:
            self._count += 1
            ptx = tvms.emit(module, "ptx", self.target)
            Path(f"{self._prefix}.{self._count}.ptx").write_text(str(ptx), encoding="utf-8")
        return tvms.compile(module, target=self.target, bounds=bounds)

    def arrays(self, *arrays: Any) -> list[Any]:
        """Return copies of arrays where kernels run."""
        return [array.copy() if self.is_simulated else tvms.nd.array(array, tvms.cuda()) for array in arrays]

    def milliseconds(self, call: Callable[[], object]) -> float:
        """Return the mean time of a call, after three for warming up; of one call if kernels are simulated."""
        if self.is_simulated:
            start = time.perf_counter()
            call()
            return (time.perf_counter() - start) * 1000
        for _ in range(3):
            call()
        driver, once = find_driver(), find_driver().event()
        call()
        count = int(max(3, min(100, 200 / max(driver.milliseconds(once, driver.event()), 1e-3))))
        start = driver.event()
        for _ in range(count):
            call()
        return driver.milliseconds(start, driver.event()) / count


def on_host(array: Any) -> Any:
    """Return an array as a NumPy array."""
    return array if isinstance(array, np.ndarray) else array.numpy()


def is_close(found: Any, expected: Any, dtype: str = "float32") -> bool:
    """Return whether a result is right, up to the rounding of a dtype."""
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    return bool(np.abs(found - expected).max() <= TOLERANCE[dtype] * max(np.abs(expected).max(), 1e-6))


# --- Features -----------------------------------------------------------------------------------------------------

LAUNCH = '    bx = T.launch_thread("blockIdx.x", 4)\n    tx = T.launch_thread("threadIdx.x", 64)\n'
FEATURES = {
    "atomics": f"""T.prim_func main(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
{LAUNCH}    T.evaluate(T.call_intrin("float32", "tir.atomic_add", T.address_of(B[tx % 4]), A[bx * 64 + tx]))
""",
    "shuffles": f"""T.prim_func main(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
{LAUNCH}    x: T.float32 = T.tvm_warp_shuffle_xor(T.uint32(0xFFFFFFFF), A[bx * 64 + tx], 1, 32, 32)
    B[bx * 64 + tx] = x
""",
    "copies": """T.prim_func main(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
    bx = T.launch_thread("blockIdx.x", 1)
    S_data = T.allocate([256], "float32", "shared")
    tx = T.launch_thread("threadIdx.x", 64)
    S = T.Buffer((256,), "float32", data=S_data, scope="shared")
    T.ptx_cp_async("float32", S_data, tx * 4, A.data, tx * 4, 16)
    T.ptx_commit_group()
    T.ptx_wait_group(0)
    T.tvm_storage_sync("shared")
    for k in range(4):
        B[tx * 4 + k] = S[255 - tx * 4 - k]
""",
    "symbolic sizes": """T.prim_func main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        with T.block("double"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] * 2.0
""",
}
DOUBLE = FEATURES["symbolic sizes"]
X = np.arange(256, dtype=np.float32)
EXPECTED: dict[str, Any] = {
    "atomics": np.concatenate([X.reshape(-1, 4).sum(0), np.zeros(252, np.float32)]), "copies": X[::-1],
    "shuffles": X.reshape(-1, 2)[:, ::-1].reshape(-1), "symbolic sizes": 2 * X,
}  # fmt: skip


def features(machine: Machine) -> Iterator[Row]:
    """Run a kernel of each mechanism."""
    for name, text in FEATURES.items():
        a, b = machine.arrays(X, np.zeros_like(X))
        machine.compile(text)["main"](a, b)
        yield {"feature": name, "correct": bool(np.array_equal(on_host(b), EXPECTED[name]))}


def scalars(machine: Machine) -> Iterator[Row]:
    """Pass a scalar of each dtype."""
    values = {"bool": True, "int8": -3, "uint8": 200, "int16": -300, "int32": -70000, "int64": -(2**40), "float32": 0.5}
    small = (
        {} if machine.is_simulated else {"float16": 1.5, "bfloat16": -2.5, "float8_e4m3fn": 1.75, "float8_e5m2": -3.0}
    )
    for dtype, value in (values | small).items():
        text = f"""T.prim_func main(A: T.Buffer((32,), "float32"), x: T.{dtype}, last: T.int16):
    for i in T.thread_binding(32, "threadIdx.x"):
        A[i] = T.cast(x, "float32") + T.cast(last, "float32")
"""
        (a,) = machine.arrays(np.zeros(32, np.float32))
        machine.compile(text)["main"](a, value, 7)
        yield {"dtype": dtype, "correct": bool((on_host(a) == np.float32(value) + 7).all())}


def bounds_faults(machine: Machine) -> Iterator[Row]:
    """Read outside of a buffer, which is an error of the call, and run again."""
    text = """T.prim_func main(A: T.Buffer((64,), "float32"), I: T.Buffer((64,), "int32"), B: T.Buffer((64,), "float32")):
    for i in T.thread_binding(64, "threadIdx.x"):
        B[i] = A[I[i]]
"""
    main = machine.compile(text)["main"]
    for indices, code in ((np.arange(64), ""), (np.arange(64) + 1, "E0707"), (np.arange(64)[::-1], "")):
        given = machine.arrays(X[:64], indices.astype(np.int32), np.zeros(64, np.float32))
        found = ""
        try:
            main(*given)
        except tvms.TvmsError as problem:
            found = problem.diagnostics[0].code
        is_right = found == code and (bool(code) or np.array_equal(on_host(given[2]), X[indices]))
        yield {"indices": f"from {indices[0]}", "error": found or "none", "correct": bool(is_right)}


def threads(machine: Machine) -> Iterator[Row]:
    """Call one kernel from eight threads of the host."""
    main, results = machine.compile(DOUBLE)["main"], dict[int, Any]()

    def work(number: int) -> None:
        a, b = machine.arrays(X + number, np.zeros_like(X))
        for _ in range(20):
            main(a, b)
        results[number] = on_host(b)

    running = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    yield {"threads": 8, "correct": all(np.array_equal(results.get(k), 2 * (X + k)) for k in range(8))}


def streams(machine: Machine) -> Iterator[Row]:
    """Run kernels in an own stream, and free memory that they use; then in one of torch."""
    if machine.is_simulated:
        return
    driver, main, size = find_driver(), machine.compile(DOUBLE)["main"], 1 << 22
    made = {"own": driver.stream()}
    if find_spec("torch"):
        made["torch"] = __import__("torch").cuda.Stream()
    for name, stream in made.items():
        right = True
        for turn in range(20):
            a, b, c = machine.arrays(*[np.full(size, turn, np.float32)] * 3)
            main(a, b, stream=stream)
            main(b, c, stream=stream)
            del a, b
            driver.synchronize(stream)
            right &= bool((c.numpy() == 4 * turn).all())
        yield {"stream": name, "correct": right}


def tensors(machine: Machine) -> Iterator[Row]:
    """Use tensors of torch in place, and arrays of this library in torch."""
    if machine.is_simulated or not find_spec("torch"):
        return
    torch: Any = __import__("torch")
    for dtype in ("float32", "float16", "bfloat16"):
        main = machine.compile(DOUBLE.replace("float32", dtype).replace("2.0", f'T.cast(2.0, "{dtype}")'))["main"]
        a = torch.arange(200, device="cuda", dtype=getattr(torch, dtype))
        b = torch.zeros_like(a)
        main(a, b)
        yield {"dtype": dtype, "correct": bool((b == 2 * a).all())}
    (array,) = machine.arrays(X)
    yield {"dtype": "to torch", "correct": bool((torch.from_dlpack(array).cpu().numpy() == X).all())}
    if torch.cuda.device_count() > 1:
        other, found = torch.zeros(200, device="cuda:1"), ""
        try:
            machine.compile(DOUBLE)["main"](other, other)
        except tvms.TvmsError as problem:
            found = problem.diagnostics[0].code
        yield {"dtype": "on another GPU", "error": found, "correct": found == "E0718"}


def graphs(machine: Machine) -> Iterator[Row]:
    """Run a perceptron as a graph, in host memory and on the GPU."""
    text = """I.ir_module Module:
    R.function main(x: R.Tensor((16, 64), "float32"), w: R.Tensor((64, 64), "float32")) -> R.Tensor((16, 64), "float32"):
        y = R.matmul(x, w)
        z = R.nn.relu(y)
        return z
"""
    random = np.random.default_rng(0)
    x, w = random.standard_normal((16, 64), np.float32), random.standard_normal((64, 64), np.float32)
    main = machine.compile(text)["main"]
    for where, given in (("host", [x, w]), ("GPU", machine.arrays(x, w))):
        yield {"arguments": where, "correct": is_close(on_host(main(*given)), np.maximum(x @ w, 0))}
    yield from recorded_graphs(machine)


def recorded_graphs(machine: Machine) -> Iterator[Row]:
    """Run a chain of 50 small kernels launch by launch, and as a CUDA graph, for several arguments."""
    calls = "".join(f"        v{at + 1} = R.nn.relu(R.matmul(v{at}, w))\n" for at in range(25))
    text = f"""I.ir_module Module:
    R.function main(v0: R.Tensor((16, 64), "float32"), w: R.Tensor((64, 64), "float32")) -> R.Tensor((16, 64), "float32"):
{calls}        return v25
"""
    random = np.random.default_rng(0)
    inputs, w = random.random((5, 16, 64), np.float32), random.random((64, 64), np.float32) / 32
    (weights,) = machine.arrays(w)
    for has_graphs in (False, True):
        with tvms.transform.PassContext(config={"relax.backend.use_cuda_graph": has_graphs}):
            main = machine.compile(text)["main"]
        found = [main(*machine.arrays(x), weights) for x in inputs]
        expected = list(inputs)
        for _ in range(25):
            expected = [np.maximum(x @ w, 0) for x in expected]
        correct = all(is_close(on_host(result), wanted) for result, wanted in zip(found, expected, strict=True))
        (x,) = machine.arrays(inputs[0])
        spent = machine.milliseconds(lambda main=main, x=x: main(x, weights))
        reports = ", ".join(map(str, getattr(main, "cuda_graphs", ())))
        yield {"arguments": "a chain", "CUDA graphs": reports, "ms": spent, "correct": correct}


# --- Speed ----------------------------------------------------------------------------------------------------------


def copy_rate(machine: Machine) -> Iterator[Row]:
    """Measure copies on the GPU."""
    if machine.is_simulated:
        return
    for size in (1 << 24, 1 << 28):
        a, b = machine.arrays(*[np.zeros(size // 4, np.float32)] * 2)
        spent = machine.milliseconds(lambda a=a, b=b: find_driver().copy(b.address, a.address, a.nbytes))
        yield {"bytes": size, "ms": spent, "GB/s": 2 * size / spent / 1e6}


def product(sizes: tuple[int, int, int], kind: str, batch: int) -> str:
    """Return a product of `kind` into float32."""
    m, n, k = sizes
    first, at = (f"{batch}, ", "vb, ") if batch else ("", "")
    loops, kinds, names = ("b, i, j, k", "SSSR", "vb, vi, vj, vk") if batch else ("i, j, k", "SSR", "vi, vj, vk")
    a, b = f"A[{at}vi, vk]", f"B[{at}vk, vj]"
    a, b = (a, b) if kind == "float32" else (f'T.cast({a}, "float32")', f'T.cast({b}, "float32")')
    return f"""T.prim_func main(A: T.Buffer(({first}{m}, {k}), "{kind}"), B: T.Buffer(({first}{k}, {n}), "{kind}"), C: T.Buffer(({first}{m}, {n}), "float32")):
    for {loops} in T.grid({first}{m}, {n}, {k}):
        with T.block("C"):
            {names} = T.axis.remap("{kinds}", [{loops}])
            with T.init():
                C[{at}vi, vj] = T.float32(0)
            C[{at}vi, vj] = C[{at}vi, vj] + {a} * {b}
"""


SHAPES = [
    ((1024, 1024, 1024), 0), ((4096, 4096, 4096), 0), ((8192, 8192, 8192), 0), ((16384, 128, 4096), 0), ((128, 128, 65536), 0), ((512, 512, 512), 32),
]  # fmt: skip


def products(kind: str) -> Callable[[Machine], Iterator[Row]]:
    """Return the part that measures products of a dtype; 32 rows of each result are compared with NumPy."""

    def measure(machine: Machine) -> Iterator[Row]:
        random = np.random.default_rng(0)
        for shape, count in SHAPES[:: 3 if machine.is_simulated else 1]:
            (m, n, k), batch = tuple(map(machine.size, shape)), min(count, machine.size(count))
            first = (batch,) if batch else ()
            a = random.standard_normal((*first, m, k), np.float32).astype(numpy_dtype(kind))
            b = random.standard_normal((*first, k, n), np.float32).astype(numpy_dtype(kind))
            given = machine.arrays(a, b, np.zeros((*first, m, n), np.float32))
            main = machine.compile(product((m, n, k), kind, batch), bounds="trust")["main"]
            spent = machine.milliseconds(lambda main=main, given=given: main(*given))
            rows = random.integers(0, m, 32)
            expected = a[..., rows, :].astype(np.float32) @ b.astype(np.float32)
            row = {
                "m": m,
                "n": n,
                "k": k,
                "batch": batch or 1,
                "ms": spent,
                "TFLOP/s": 2e-9 * (batch or 1) * m * n * k / spent,
            }
            yield {
                **row,
                **_by_torch(machine, spent, a, b),
                "correct": is_close(on_host(given[2])[..., rows, :], expected, kind),
            }

    return measure


def _by_torch(machine: Machine, spent: float, a: Any, b: Any) -> Row:
    """Return the time of the product in torch, and the part of its rate that was reached."""
    if machine.is_simulated or not find_spec("torch"):
        return {}
    torch: Any = __import__("torch")
    kind = torch.bfloat16 if a.dtype == ml_dtypes.bfloat16 else getattr(torch, str(a.dtype))
    left, right = (torch.from_numpy(array.astype(np.float32)).cuda().to(kind) for array in (a, b))
    theirs = machine.milliseconds(lambda: left @ right)
    return {"torch ms": theirs, "of torch": theirs / spent}


def rows(name: str, expected: Callable[[list[Any]], Any]) -> Callable[[Machine], Iterator[Row]]:
    """Return the part that measures a kernel of `bench/gpu_kernels` that reads and writes a matrix."""

    def measure(machine: Machine) -> Iterator[Row]:
        random, size = np.random.default_rng(0), machine.size(4096)
        text = (KERNELS / f"{name}.tvms").read_text(encoding="utf-8").partition("\n    S.schedule")[0]
        main = machine.compile(text.replace("4096", str(size)), bounds="trust")
        (function,) = main
        shapes = [(size, size), (size,), (size,)] if name == "layer_norm" else [(size, size)]
        inputs = [random.standard_normal(shape, np.float32) for shape in shapes]
        given = machine.arrays(*inputs, np.zeros((size, size), np.float32))
        spent = machine.milliseconds(lambda: main[function](*given))
        right = is_close(on_host(given[-1]), expected([array.astype(np.float64) for array in inputs]))
        yield {"kernel": name, "size": size, "ms": spent, "GB/s": 8 * size * size / spent / 1e6, "correct": right}

    return measure


def _softmax(arrays: list[Any]) -> Any:
    powers = np.exp(arrays[0] - arrays[0].max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def _layer_norm(arrays: list[Any]) -> Any:
    x, scale, shift = arrays
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * scale + shift


def machine_facts(machine: Machine) -> Iterator[Row]:
    """Tell which GPU, driver and packages are used."""
    yield {"fact": "target", "value": machine.target}
    if machine.is_simulated:
        return
    driver = find_driver()
    yield {"fact": "GPU", "value": f"{driver.name} ({driver.arch}), by {driver.backend}"}
    try:
        said = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=20).stdout
    except OSError as problem:
        said = str(problem)
    yield {"fact": "nvidia-smi", "value": said.strip()}


PARTS: dict[str, Callable[[Machine], Iterator[Row]]] = {
    "machine": machine_facts, "features": features, "scalars": scalars, "bounds faults": bounds_faults, "threads": threads, "streams": streams,
    "tensors": tensors, "graphs": graphs, "copy rate": copy_rate, "float32 products": products("float32"),
    "float16 products": products("float16"), "bfloat16 products": products("bfloat16"),
    "softmax": rows("softmax", _softmax),
    "layer norm": rows("layer_norm", _layer_norm), "transpose": rows("transpose", lambda arrays: arrays[0].T),
}  # fmt: skip
