"""Compiling: from a program to machine code, called from Python with one state or a batch."""

from fallingcat.codegen.kernel import Kernel as Kernel
from fallingcat.codegen.threads import set_threads as set_threads
