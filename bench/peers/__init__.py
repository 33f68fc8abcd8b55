"""The benchmark beside peers: one run, one process a library, every result verified before its time counts.

`python -m bench.peers --device gpu|cpu` runs it (`__main__.py`); `python -m bench.check` looks for
slow-downs.

    cells.py, grid.py     what is filtered: pictures, masks, and the tables that they make
    roster.py             which libraries take part; libraries/ has one file each
    library.py, worker.py the contract of a library, and the process that serves one (needs NumPy alone, not
    the engine) pipe.py               the other end of that process oracle.py             float64 results of a
    cell, and the comparison measure.py            prepare, verify, sample A B C A B C ... summary.py
    medians, limits, ratios; tables.py and plot.py write them down history.py            one line per run, and
    what fell since
"""
