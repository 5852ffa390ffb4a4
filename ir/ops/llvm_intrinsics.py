"""Names of LLVM's intrinsics, by their first part: `llvm.fma.f32` is an instance of `fma`."""

from __future__ import annotations

from difflib import get_close_matches

_GENERIC = """
abs acos addressofreturnaddress adjust allow amdgcn annotation asin assume asan atan atan2 bitreverse bswap call
canonicalize ceil clear codeview compressed convergent convert copysign coro cos cosh ctlz ctpop cttz dbg
debugtrap donothing dx eh exp exp10 exp2 expect experimental fabs fake fentry fcmp flags floor fma fmuladd fptosi fptoui
fptrunc frameaddress frexp fshl fshr gc get hot icall init instrprof invariant is isnan launder ldexp lifetime llrint
llround load local localaddress localescape localrecover log log10 log2 loop lrint lround masked matrix maximum maximumnum
maxnum memcpy memmove memset memprof minimum minimumnum minnum modf nearbyint objc nvvm pcmarker pow powi prefetch preserve
protected pseudoprobe ptr ptrauth ptrmask public read readcyclecounter readsteadycounter reset returnaddress rint round
roundeven sadd scmp sdiv seh set sideeffect sin sincos sincospi sinh smax smin smul spv sponentry sqrt ssa ssub sshl
stackguard stackprotector stackrestore stacksave start stepvector strip structured swift tan tanh thread threadlocal
trap trunc type uadd ubsantrap ucmp udiv umax umin umul usub ushl va vacopy vaend vastart var vector vp vscale write xray
"""
_TARGETS = "aarch64 amdgcn arm bpf hexagon loongarch mips nvvm ppc r600 riscv s390 ve wasm x86 xcore"
_KNOWN = frozenset((*_GENERIC.split(), *_TARGETS.split()))


def is_llvm_intrinsic(name: str) -> bool:
    """Whether LLVM may have an intrinsic of this name; for target-specific ones, only the target is checked."""
    prefix, _, rest = name.partition(".")
    return prefix == "llvm" and rest.partition(".")[0] in _KNOWN


def nearest_llvm_intrinsic(name: str) -> str | None:
    """Return the known name that is nearest to an unknown one; None if none is close."""
    first, _, rest = name.removeprefix("llvm.").partition(".")
    near = get_close_matches(first, sorted(_KNOWN), n=1, cutoff=0.7)
    return ".".join(part for part in ("llvm", *near, rest) if part) if near else None
