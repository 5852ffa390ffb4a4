"""GPUs: loops bound to threads become kernels, which are emitted as PTX or simulated on the processor.

architectures   what each compute capability offers
rules           the default schedules of functions without thread bindings
lower           a function becomes a host part and kernels: `reductions`, `split`, `memory`, `allreduce`, `barriers`
simulate        a kernel as loops: threads run one after the other between barriers; `orders`: in each order
races           conflicting accesses without a barrier between them
ptxas, report   the resources that a kernel uses
driver, entry   launching kernels
"""
