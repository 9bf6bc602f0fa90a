"""Seeded attacks on files, calls, the cache, threads and the life of a process, with a budget in counts.

    pytest tests/attack -m sweep                        minutes
    pytest tests/attack -m sweep --attack-scale 100     a night
    python -m tests.attack --hours 1                    the same by the clock, with all counts as JSON at the end

An attack is a module with `setup(counts)` and `case(state, index, random, counts)`; it raises `ProblemError` when the library
does what it must not. Every case is made from the seed and its number alone, so one that fails can be run again alone. Cases
run in worker processes with limits of memory and time (`run.py`), so that a crash or a hang is a finding like any other.
"""
