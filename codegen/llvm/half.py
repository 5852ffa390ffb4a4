"""Conversions between float16 and float32 as functions, for processors without instructions for them (x86 without F16C).

LLVM calls these functions by the names that they have in compilers' runtime libraries, which a process need not have loaded. float16 is
computed in float32 with a conversion after each operation, as with the instructions.
"""

from __future__ import annotations

CONVERSIONS = """
define weak_odr float @__extendhfsf2(half %x) nounwind {
entry:
  %bits = bitcast half %x to i16
  %word = zext i16 %bits to i32
  %sign.low = and i32 %word, 32768
  %sign = shl i32 %sign.low, 16
  %magnitude = and i32 %word, 32767
  %shifted = shl i32 %magnitude, 13
  %scaled = bitcast i32 %shifted to float
  %finite = fmul float %scaled, 0x46F0000000000000
  %finite.bits = bitcast float %finite to i32
  %special = or i32 %shifted, 2139095040
  %quiet = or i32 %special, 4194304
  %is.nan = icmp ugt i32 %magnitude, 31744
  %is.special = icmp uge i32 %magnitude, 31744
  %special.bits = select i1 %is.nan, i32 %quiet, i32 %special
  %result.bits = select i1 %is.special, i32 %special.bits, i32 %finite.bits
  %signed = or i32 %result.bits, %sign
  %result = bitcast i32 %signed to float
  ret float %result
}

define weak_odr half @__truncsfhf2(float %x) nounwind {
entry:
  %word = bitcast float %x to i32
  %sign.high = lshr i32 %word, 16
  %sign = and i32 %sign.high, 32768
  %magnitude = and i32 %word, 2147483647
  %value = bitcast i32 %magnitude to float
  %aligned = fadd float %value, 5.000000e-01
  %aligned.bits = bitcast float %aligned to i32
  %subnormal = sub i32 %aligned.bits, 1056964608
  %last.high = lshr i32 %magnitude, 13
  %last = and i32 %last.high, 1
  %rebased = add i32 %magnitude, 3355447295
  %biased = add i32 %rebased, %last
  %normal = lshr i32 %biased, 13
  %payload = lshr i32 %magnitude, 13
  %payload.low = and i32 %payload, 1023
  %nan = or i32 %payload.low, 32256
  %is.nan = icmp ugt i32 %magnitude, 2139095040
  %is.large = icmp uge i32 %magnitude, 1199570944
  %is.subnormal = icmp ult i32 %magnitude, 947912704
  %finite = select i1 %is.subnormal, i32 %subnormal, i32 %normal
  %bounded = select i1 %is.large, i32 31744, i32 %finite
  %any = select i1 %is.nan, i32 %nan, i32 %bounded
  %signed = or i32 %any, %sign
  %bits = trunc i32 %signed to i16
  %result = bitcast i16 %bits to half
  ret half %result
}
"""
"""`__extendhfsf2` multiplies the moved bits by 2^112, which also makes subnormal numbers normal. `__truncsfhf2` rounds to nearest even: a
normal number by adding half a unit less one in the last kept place, plus that place; a subnormal one by adding 0.5, whose last place is that of
subnormal numbers of float16.
"""
