// Functions of a robot in WebAssembly. `layout` says what they are, `bytes` is the module.
//
//   const robot = await instantiate(layout, bytes);
//   const dnu = robot.forward_dynamics(q, nu, tau);      // copies in, copies out
//
// Without copies: write to robot.forward_dynamics.inputs.q (a view of the module's memory) and so on, call
// robot.forward_dynamics.run(), read robot.forward_dynamics.outputs.dnu.
async function instantiate(layout, bytes) {
  const Numbers = layout.precision === "float" ? Float32Array : Float64Array;
  const size = Numbers.BYTES_PER_ELEMENT;
  const stack = 65536;
  let end = Math.ceil(layout.data / 16) * 16 + stack;
  const stackTop = end;
  const room = (count) => {
    const at = end;
    end += Math.ceil((count * size) / 16) * 16;
    return at;
  };
  const workspace = room(layout.functions.reduce((most, f) => Math.max(most, f.workspace), 0));
  const places = layout.functions.map((f) => [...f.inputs, ...f.outputs].map((a) => room(a.size)));
  const memory = new WebAssembly.Memory({ initial: Math.ceil(end / 65536) });
  const env = {
    __linear_memory: memory,
    __stack_pointer: new WebAssembly.Global({ value: "i32", mutable: true }, stackTop),
  };
  const { instance } = await WebAssembly.instantiate(bytes, { env });
  const robot = { ...layout.robot };
  layout.functions.forEach((f, k) => {
    const code = instance.exports[f.symbol];
    const views = [...f.inputs, ...f.outputs].map((a, j) => new Numbers(memory.buffer, places[k][j], a.size));
    const run = () => code(...places[k], workspace);
    const call = (...given) => {
      if (given.length !== f.inputs.length) {
        throw new TypeError(`${f.name}: expected ${f.inputs.map((a) => a.name).join(", ")}; got ${given.length} arguments`);
      }
      f.inputs.forEach((a, j) => {
        const count = given[j] === undefined || given[j] === null ? `${given[j]}` : given[j].length;
        if (count !== a.size) throw new TypeError(`${f.name}: ${a.name} has ${a.size} entries; got ${count}`);
        views[j].set(given[j]);
      });
      run();
      const results = f.outputs.map((_, j) => views[f.inputs.length + j].slice());
      return results.length === 1 ? results[0] : Object.fromEntries(f.outputs.map((a, j) => [a.name, results[j]]));
    };
    const named = (arrays, first) => Object.fromEntries(arrays.map((a, j) => [a.name, views[first + j]]));
    call.inputs = named(f.inputs, 0);
    call.outputs = named(f.outputs, f.inputs.length);
    call.shapes = Object.fromEntries(f.outputs.map((a) => [a.name, a.shape]));
    call.run = run;
    robot[f.name] = call;
  });
  return robot;
}
