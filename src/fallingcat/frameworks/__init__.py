"""Interfaces to other libraries: JAX, PyTorch, CasADi. Each is an optional extra, imported when it is asked for."""
