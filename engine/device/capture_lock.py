"""The lock for what concerns a whole device: capturing launches, and waiting for all work under way.

While a thread captures launches into a graph, no thread may wait for the context or use the default stream,
which waits for the others: that call fails, and the capture is lost, in every mode of capture (CUDA
Programming Guide, "Prohibited and unhandled operations" of stream capture). The stream of a backend is
shared, and another thread's work there would be captured too, so its runs and copies take the lock as well;
work on a thread's own stream does not. The lock is not fair (beside a thread that took it for 1 ms at a time
another one waited for at most four turns): a fair one would be Python code, and Ctrl+C between its lines
could leave the device locked for ever.
"""

import threading

# A capture takes 0.1 to 2 ms. Reentrant: what a capture launches may take it too.
CAPTURE_LOCK = threading.RLock()
"""Held to capture launches, to wait for a context, and to use the default stream or that of a backend."""
