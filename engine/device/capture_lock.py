"""What concerns a whole device is done by one thread at a time: capturing launches, and waiting for all that is under way.

While a thread captures launches into a graph, no thread may wait for the context, or use the default stream, which waits for
the others: that call fails, and the capture is lost with it. This is so in every mode of capture; the mode for one thread
(`cuda_graph.py`) lets others do what is merely unsafe, such as allocating (CUDA Programming Guide, "Prohibited and unhandled
operations" of stream capture).

The stream of a backend is everybody's, and what another thread sent there would be captured too, so runs and copies on it
are held to the same. What goes to a stream of one's own, and waits for that alone, needs none of this.

The lock is not fair: a thread that asks again right after it let go may get it before one that waits. Beside a thread that did
nothing else, 1 ms at a time, another one waited for one or two of these, at most four (2 cores). Fair turns would take a class of
ours, with a queue and the depth of each thread, and Ctrl+C between its lines could leave the device taken for ever: Python
looks for it there, and not within an `RLock`.
"""

import threading

# A capture takes 0.1 to 2 ms, and its launches may come to what asks for this too.
WHOLE_DEVICE = threading.RLock()
"""Held while launches are captured, and by whoever waits for a context, uses the default stream, or that of a backend."""
