"""The benchmark beside peers: one run, one process a library, every result verified before its time counts.

`python -m bench.peers --device gpu|cpu` runs it; `python -m bench.check` looks for slow-downs. `cells` and
`grid` say what is filtered, `roster` and `libraries/` who takes part. `library` is the contract of a library,
`worker` the process that serves one (needs NumPy alone, not the engine), `pipe` its other end. `oracle`
compares, `measure` samples A B C A B C ..., the others say what came of it.
"""
