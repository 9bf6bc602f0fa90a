"""Jobs over files that do not fit memory: states in, results out, chunk by chunk, here or on a cluster.

sampling.py  random states          calls.py    functions as a command line names them
sources.py   states in files        tables.py   those with named columns
targets.py   results in files       ledger.py   what is done, and what a result was made of
job.py       one chunk of a job     engine.py   all of them: in this process, or by Dask
advice.py    size of a chunk
"""
