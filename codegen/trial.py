"""Queries of LLVM about a processor, in a process of its own: LLVM reports unknown names as lines on
standard error, and aborts on contradictory features.

    python trial.py TRIPLE CPU FEATURES

prints the vector size in bytes, whether there is a fused multiply-add, whether masked loads are moves of AVX, whether
instructions convert float16, and whether code for the processor runs here; and, on standard error, the names of all
processors and features. Nothing of tvms is imported.
"""

import sys
from typing import Any

import llvmlite.binding as _binding  # pyright: ignore[reportMissingTypeStubs]

binding: Any = _binding
_PRODUCT = """
declare <16 x float> @llvm.fma.v16f32(<16 x float>, <16 x float>, <16 x float>)
define <16 x float> @product(<16 x float> %x) {
  %y = call <16 x float> @llvm.fma.v16f32(<16 x float> %x, <16 x float> %x, <16 x float> %x)
  ret <16 x float> %y
}
"""
_MASKED = """
declare <4 x float> @llvm.masked.load.v4f32.p0(ptr, i32, <4 x i1>, <4 x float>)
define <4 x float> @masked(ptr %place, <4 x i1> %mask) {
  %y = call <4 x float> @llvm.masked.load.v4f32.p0(ptr %place, i32 4, <4 x i1> %mask, <4 x float> zeroinitializer)
  ret <4 x float> %y
}
"""
_HALF = """
define half @half(float %x) {
  %y = fptrunc float %x to half
  ret half %y
}
"""
_INLINED = """
define internal float @inner(float %x) #0 {{
  %y = fadd float %x, %x
  ret float %y
}}
define float @outer(float %x) #1 {{
  %y = call float @inner(float %x)
  ret float %y
}}
attributes #0 = {{ "target-cpu"="{cpu}" "tune-cpu"="generic" "target-features"="{features}" }}
attributes #1 = {{ "target-cpu"="{host}" "tune-cpu"="generic" "target-features"="{host_features}" }}
"""
_SYSTEM = (
    "pku sgx pconfig wbnoinvd clwb clflushopt clzero mwaitx invpcid rdpid rdpru shstk movdiri movdir64b enqcmd uintr "
    "tsxldtrk serialize cldemote waitpkg hreset ptwrite xsave xsavec xsaveopt xsaves rtm lwp fsgsbase kl widekl rdseed "
    "rdrnd ermsb fsrm amx-tile amx-int8 amx-bf16 prefetchi usermsr cmpccxadd raoint"
)
"""Features of x86 that LLVM uses only on request, and many of which virtual machines hide; and `ermsb` and `fsrm`, which tell that an
instruction of every processor is fast.
"""


def runs_here(triple: str, cpu: str, features: str) -> bool:
    """Return whether this machine has all features of code for a processor: only then LLVM inlines one into the
    other.
    """
    target = binding.Target.from_default_triple()
    if target.triple.split("-")[0] != triple.split("-")[0]:
        return False
    if triple.startswith("x86"):
        features = ",".join([features, *(f"-{name}" for name in _SYSTEM.split())]).lstrip(",")
    host, host_features = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    text = _INLINED.format(cpu=cpu, features=features, host=host, host_features=host_features)
    module, options = binding.parse_assembly(text), binding.create_pipeline_tuning_options(speed_level=2)
    builder = binding.create_pass_builder(target.create_target_machine(cpu=host, features=host_features), options)
    builder.getModulePassManager().run(module, builder)
    return "call" not in str(module)


def main() -> None:
    """Print the answer for the processor on the command line."""
    triple, cpu, features = sys.argv[1:]
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = binding.Target.from_triple(triple) if triple else binding.Target.from_default_triple()
    target.create_target_machine(cpu="help")
    machine = target.create_target_machine(cpu=cpu, features=features)
    assembly = machine.emit_assembly(binding.parse_assembly(_PRODUCT))
    size = 64 if "zmm" in assembly else 32 if "ymm" in assembly else 16
    has_fma = any(name in assembly for name in ("vfmadd", "fmla", "fmadd"))
    has_mask_moves = "vmaskmov" in machine.emit_assembly(binding.parse_assembly(_MASKED))
    has_half = "__truncsfhf2" not in machine.emit_assembly(binding.parse_assembly(_HALF))
    print(size, int(has_fma), int(has_mask_moves), int(has_half), int(runs_here(machine.triple, cpu, features)))


if __name__ == "__main__":
    main()
