"""GPUs: loops bound to threads become kernels, which are emitted as PTX, or simulated on the processor.

architectures   what each compute capability offers
rules           the schedules of what nobody scheduled for threads
lower           from a function to its host part and its kernels: `reductions`, `split`, `memory`, `allreduce`, `barriers`
simulate        a kernel as loops: threads in turns, from barrier to barrier; `orders`: in each order
races           accesses that meet with no barrier between them
ptxas, report   what a kernel uses of the machine
driver, entry   launching kernels
"""
