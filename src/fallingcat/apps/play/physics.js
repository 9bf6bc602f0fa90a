// The robot's dynamics in WebAssembly, and an integrator that keeps what nature keeps.
//
//   const physics = await Physics(data);     // data: see page.py
//   physics.advance(seconds);                // moves physics.q and physics.nu, (nq) and (nv)
//   physics.energy(), physics.momentum(), physics.poses()
//
// What acts on the robot can be changed at any time: physics.world = { gravity, floor, friction, muscles, ... }.

// A joint's stop pushes back with STOP stiffness beyond^4: three times differentiable, since an integrator of order eight feels a kink.
const STOP = 20 / 0.03 ** 2;
const dot3 = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross3 = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];

// At once where the browser lets a page wait for so much code, else in its own time.
async function instantiate(bytes, imports) {
  try { return new WebAssembly.Instance(new WebAssembly.Module(bytes), imports); } catch { return (await WebAssembly.instantiate(bytes, imports)).instance; }
}
// Functions of the robot over one memory: f.name(inputs..., outputs...) with places in F.
async function loadKernels({ code, data, functions }) {
  const stack = (data + 131072 + 65535) & ~65535, work = Object.values(functions).reduce((sum, k) => sum + k.workspace + 2, 0) + 40000;
  const memory = new WebAssembly.Memory({ initial: (stack >> 16) + Math.ceil(8 * work / 65536) + 1 }), F = new Float64Array(memory.buffer), f = {};
  const env = {
    __linear_memory: memory, __stack_pointer: new WebAssembly.Global({ value: "i32", mutable: true }, stack),
    __indirect_function_table: new WebAssembly.Table({ initial: 1, element: "anyfunc" }),
  };
  let at = stack / 8;
  const room = (count) => { const a = at; at += (count + 1) & ~1; return a; };
  const { exports } = await instantiate(Uint8Array.from(atob(code), (c) => c.charCodeAt(0)), { env });
  for (const [name, { symbol, workspace }] of Object.entries(functions)) {
    const run = exports[symbol], place = 8 * room(workspace);
    f[name] = (...places) => run(...places.map((p) => 8 * p), place);
  }
  return { f, F, room };
}

async function Physics(data) {
  const { nq, nv, n, bodies, joints } = data, count = bodies.length, size = nq + nv;
  const { f, F, room } = await loadKernels(data.kernels);
  const Q = room(nq), V = room(nv), T = room(nv), W = room(6 * count), A = room(nv), K = room(18 * count), E = room(1), H = room(6);
  const mass = bodies.reduce((sum, b) => sum + b.mass, 0);
  const y = new Float64Array(size), world = {
    gravity: [0, 0, 0], floor: null, friction: 0, muscles: true, targets: Float64Array.from(joints, (j) => j.value), hand: null, track: null, limits: true,
  };
  const state = { time: 0, steps: 0, evaluations: 0, h: 1 / 240 };
  y.set(data.q);

  // ---- forces ----
  const push = (i, at, force) => {   // a force in the world, at a point given from the body's origin in the axes of the world
    const k = K + 18 * i, w = W + 6 * i, moment = cross3(at, force);
    for (let a = 0; a < 3; a++) {
      F[w + a] += F[k + a] * force[0] + F[k + 4 + a] * force[1] + F[k + 8 + a] * force[2];
      F[w + 3 + a] += F[k + a] * moment[0] + F[k + 4 + a] * moment[1] + F[k + 8 + a] * moment[2];
    }
  };
  const turned = (i, p) => { const k = K + 18 * i; return [0, 1, 2].map((a) => F[k + 4 * a] * p[0] + F[k + 4 * a + 1] * p[1] + F[k + 4 * a + 2] * p[2]); };
  const origin = (i) => { const k = K + 18 * i; return [F[k + 3], F[k + 7], F[k + 11]]; };
  const velocity = (i, r) => {   // of the body's point at r from its origin
    const k = K + 18 * i + 12, w = cross3([F[k + 3], F[k + 4], F[k + 5]], r);
    return [F[k] + w[0], F[k + 1] + w[1], F[k + 2] + w[2]];
  };
  function forces() {
    F.fill(0, W, W + 6 * count);
    const g = world.gravity;
    if (g[0] || g[1] || g[2]) bodies.forEach((b, i) => { if (b.mass) push(i, turned(i, b.centre), g.map((x) => b.mass * x)); });
    if (world.floor !== null) for (const [i, p, radius] of data.contacts) touch(i, p, radius);
    if (world.hand) {
      const { body, point, target, stiffness, damping } = world.hand, r = turned(body, point), o = origin(body), v = velocity(body, r);
      push(body, r, [0, 1, 2].map((a) => stiffness * (target[a] - o[a] - r[a]) - damping * v[a]));
    }
  }
  // The floor is a spring; with friction it also takes energy: half of a blow, and what slides.
  function touch(i, p, radius) {
    const k = K + 18 * i, z = F[k + 8] * p[0] + F[k + 9] * p[1] + F[k + 10] * p[2], deep = world.floor - (F[k + 11] + z - radius);
    if (deep <= 0) return;
    const r = turned(i, p);
    r[2] -= radius;
    const v = world.friction ? velocity(i, r) : [0, 0, 0];
    const normal = Math.max(0, data.floor.stiffness * deep * deep * (1 - data.floor.damping * v[2] * Math.sign(world.friction)));
    const slip = world.friction ? 0.7 * normal / Math.sqrt(v[0] * v[0] + v[1] * v[1] + 4e-4) : 0;
    push(i, r, [-slip * v[0], -slip * v[1], normal]);
  }
  function torques(t) {
    F.fill(0, T, T + nv);
    const wanted = world.track && world.track(t);
    if (wanted) {
      const D = world.trackRoom || (world.trackRoom = { ddr: room(n), tau: room(n) }), rate = 40, first = nq - n, base = nv - n;
      for (let j = 0; j < n; j++) F[D.ddr + j] = wanted.dds[j] - 2 * rate * (F[V + base + j] - wanted.ds[j]) - rate * rate * (F[Q + first + j] - wanted.s[j]);
      f.tracking(Q, V, D.ddr, D.tau);
      for (let j = 0; j < n; j++) F[T + base + j] = F[D.tau + j];
    }
    for (let j = 0; j < joints.length; j++) {
      const { q, nu, stiffness, damping, low, high, limited } = joints[j], x = F[Q + q], v = F[V + nu];
      if (world.muscles && !wanted) F[T + nu] += stiffness * (world.targets[j] - x) - damping * v;
      if (limited && world.limits) {   // an elastic stop: its energy counts
        const beyond = x < low ? x - low : x > high ? x - high : 0;
        F[T + nu] -= STOP * stiffness * beyond * Math.abs(beyond) ** 3;
      }
      if (world.friction && !wanted) F[T + nu] -= world.friction * 0.1 * damping * v;
    }
  }

  // ---- the rate of the state; q moves in its own numbers, quaternions among them ----
  function rate(x, t, out) {
    state.evaluations++;
    F.set(x.subarray(0, nq), Q); F.set(x.subarray(nq), V);
    f.kinematics(Q, V, K);
    forces(); torques(t);
    f.dynamics(Q, V, T, W, A);
    for (let k = 0; k < nv; k++) out[nq + k] = F[A + k];
    for (const c of data.coordinates) {
      const q = c.q, v = nq + c.nu;
      if (c.kind === "plain") for (let k = 0; k < c.count; k++) out[q + k] = x[v + k];
      else if (c.kind === "planar") {
        const co = Math.cos(x[q + 2]), si = Math.sin(x[q + 2]);
        out[q] = co * x[v] - si * x[v + 1]; out[q + 1] = si * x[v] + co * x[v + 1]; out[q + 2] = x[v + 2];
      } else {
        const free = c.kind === "free", u = q + (free ? 3 : 0), w = v + (free ? 3 : 0), [a, b, d, e] = [x[u], x[u + 1], x[u + 2], x[u + 3]];
        const [p, r, s] = [x[w], x[w + 1], x[w + 2]];
        out[u] = 0.5 * (e * p + b * s - d * r); out[u + 1] = 0.5 * (e * r + d * p - a * s);
        out[u + 2] = 0.5 * (e * s + a * r - b * p); out[u + 3] = -0.5 * (a * p + b * r + d * s);
        if (free) {
          const m = 1 / (a * a + b * b + d * d + e * e), [i, j, k] = [x[v], x[v + 1], x[v + 2]];
          const tx = 2 * (b * k - d * j), ty = 2 * (d * i - a * k), tz = 2 * (a * j - b * i);
          out[q] = i + m * (e * tx + b * tz - d * ty); out[q + 1] = j + m * (e * ty + d * tx - a * tz); out[q + 2] = k + m * (e * tz + a * ty - b * tx);
        }
      }
    }
  }
  function normalize(x) {
    for (const c of data.coordinates) if (c.kind === "free" || c.kind === "ball") {
      const u = c.q + (c.kind === "free" ? 3 : 0), m = 1 / Math.hypot(x[u], x[u + 1], x[u + 2], x[u + 3]);
      for (let k = 0; k < 4; k++) x[u + k] *= m;
    }
  }

  // ---- Gragg's midpoint rule with 2, 4, 6 and 8 steps, extrapolated (Bulirsch and Stoer 1966): order eight ----
  const STEPS = [2, 4, 6, 8], buffer = () => new Float64Array(size), first = buffer(), d = buffer(), z = [buffer(), buffer(), buffer()];
  const table = STEPS.map(buffer), last = buffer();
  function midpoint(h, count, out) {
    const s = h / count;
    let [a, b, c] = z;
    for (let k = 0; k < size; k++) { a[k] = y[k]; b[k] = y[k] + s * first[k]; }
    for (let m = 1; m < count; m++) {
      rate(b, state.time + m * s, d);
      for (let k = 0; k < size; k++) c[k] = a[k] + 2 * s * d[k];
      [a, b, c] = [b, c, a];
    }
    rate(b, state.time + h, d);
    for (let k = 0; k < size; k++) out[k] = 0.5 * (a[k] + b[k] + s * d[k]);
  }
  function attempt(h) {   // the error of a step, which then stands in table[0]
    STEPS.forEach((count, i) => midpoint(h, count, table[i]));
    for (let level = 1; level < STEPS.length; level++) for (let i = 0; i < STEPS.length - level; i++) {
      const ratio = (STEPS[i + level] / STEPS[i]) ** 2 - 1;
      if (level === STEPS.length - 1) last.set(table[1]);
      for (let k = 0; k < size; k++) table[i][k] = table[i + 1][k] + (table[i + 1][k] - table[i][k]) / ratio;
    }
    let error = 0;
    for (let k = 0; k < size; k++) error = Math.max(error, Math.abs(table[0][k] - last[k]) / (1 + Math.abs(y[k])));
    return error;
  }
  const LONGEST = 1 / 60, SHORTEST = 1e-6;
  // Free motion is computed as well as doubles allow; blows, hands and muscles need no ten digits.
  const tolerance = () => (world.hand || world.friction || world.muscles || world.track ? 1e-7 : world.floor !== null && lowest() < world.floor + 0.02 * data.size ? 1e-8 : 1e-11);
  // Moves on by some seconds, or until `until` (a time of performance.now) has come; gives the seconds done.
  function advance(seconds, until = Infinity) {
    const end = state.time + seconds, begin = state.time;
    while (end - state.time > 1e-12 && performance.now() < until) {
      const TOLERANCE = tolerance();
      rate(y, state.time, first);
      let h = Math.min(state.h, end - state.time), error = attempt(h);
      while (!(error < TOLERANCE) && h > SHORTEST) { h *= error > 1e3 * TOLERANCE || !(error >= 0) ? 0.25 : 0.6; error = attempt(h); }
      if (!Number.isFinite(error)) throw new Error("the motion is too violent to be computed");
      y.set(table[0]);
      normalize(y);
      state.time += h; state.steps++;
      if (h === state.h || h < 0.9 * state.h) state.h = Math.min(LONGEST, h * Math.min(1.6, Math.max(0.7, 0.85 * (TOLERANCE / (error + 1e-30)) ** (1 / 8))));
    }
    return state.time - begin;
  }

  // ---- what is asked ----
  const look = () => { F.set(y.subarray(0, nq), Q); F.set(y.subarray(nq), V); f.kinematics(Q, V, K); };
  function energy() {
    look(); f.energy(Q, V, E);
    let weight = 0, springs = 0;
    const g = world.gravity;
    bodies.forEach((b, i) => { const c = turned(i, b.centre), o = origin(i); weight -= b.mass * dot3(g, [o[0] + c[0], o[1] + c[1], o[2] + c[2]]); });
    if (world.limits) for (const { q, stiffness, low, high, limited } of joints) if (limited) {
      const beyond = Math.max(low - y[q], y[q] - high, 0);
      springs += STOP * stiffness * beyond ** 5 / 5;
    }
    if (world.floor !== null) for (const [i, p, radius] of data.contacts) {
      const deep = world.floor - (origin(i)[2] + turned(i, p)[2] - radius);
      if (deep > 0) springs += data.floor.stiffness * deep ** 3 / 3;
    }
    return { kinetic: F[E], potential: weight, springs, total: F[E] + weight + springs };
  }
  function momentum() { look(); f.momentum(Q, V, H); return Array.from(F.subarray(H, H + 6)); }
  function poses() {   // of all bodies, column-major for WebGL
    look();
    return bodies.map((_, i) => {
      const k = K + 18 * i;
      return new Float32Array([F[k], F[k + 4], F[k + 8], 0, F[k + 1], F[k + 5], F[k + 9], 0, F[k + 2], F[k + 6], F[k + 10], 0, F[k + 3], F[k + 7], F[k + 11], 1]);
    });
  }
  function centre() {
    look();
    const sum = [0, 0, 0];
    bodies.forEach((b, i) => { const c = turned(i, b.centre), o = origin(i); for (let a = 0; a < 3; a++) sum[a] += b.mass * (o[a] + c[a]) / mass; });
    return sum;
  }
  // The lowest point of all that touches the floor.
  function lowest() { look(); return Math.min(...data.contacts.map(([i, p, radius]) => origin(i)[2] + turned(i, p)[2] - radius)); }
  // A blow: velocities change at once, by what a force at a body's point does in no time.
  function kick(body, point, impulse) {
    look();
    F.fill(0, W, W + 6 * count); F.fill(0, T, T + nv); F.fill(0, V, V + nv);
    push(body, turned(body, point), impulse);
    f.dynamics(Q, V, T, W, A);
    for (let k = 0; k < nv; k++) y[nq + k] += F[A + k];
  }
  const q = y.subarray(0, nq), nu = y.subarray(nq);
  return { q, nu, world, state, mass, advance, energy, momentum, poses, centre, lowest, kick, memory: { f, F, room }, data };
}
