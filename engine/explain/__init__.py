"""Why a run takes its time: the code of kernels, what a launch occupies, what a kernel asks of memory."""
