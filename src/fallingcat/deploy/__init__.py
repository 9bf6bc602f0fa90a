"""Functions of a robot for other programs and machines: C, object files, WebAssembly."""

from fallingcat.deploy.export import Export as Export
from fallingcat.deploy.export import export as export
from fallingcat.deploy.wasm import WasmModule as WasmModule
from fallingcat.deploy.wasm import wasm_module as wasm_module
