// A turn in the air: a closed path of shapes that leaves the robot upright, found while it falls.
//
// The path is that of fallingcat.apps.cat, with more freedom: the robot curls up, its waist goes around, it uncurls,
//   s(x) = what is left of the shape at the start + w(x) (tuck + sum of c_k cos(2 pi k x) and c_k sin(2 pi k x)),   x from 0 to 1.
// Where it leaves the base follows from the mechanical connection A and the locked inertia L, momentum h included (paper 003):
//   v = L^-1 (0; R^T h) - A ds/dt.
// The coefficients c come from damped Gauss-Newton steps on the angle between the robot's up and the world's.

const smoothStep = (x) => { const u = Math.min(1, Math.max(0, x)); return [u ** 3 * (10 - 15 * u + 6 * u * u), 30 * u * u * (1 - u) ** 2, 60 * u * (1 - u) * (1 - 2 * u)]; };
const norm3 = (a) => Math.hypot(a[0], a[1], a[2]);

function Righting(physics) {
  const { plan, n, nq, joints } = physics.data, { f, F, room } = physics.memory;
  const Q = room(nq), A = room(6 * n), L = room(36), terms = plan.terms, STEPS = 40;

  // w cos or w sin with their first two derivatives by x.
  function wave(x, k, sine) {
    const a = smoothStep(x / plan.opening), b = smoothStep((1 - x) / plan.opening), o = plan.opening;
    const w = [a[0] * b[0], (a[1] * b[0] - a[0] * b[1]) / o, (a[2] * b[0] - 2 * a[1] * b[1] + a[0] * b[2]) / o ** 2];
    const r = 2 * Math.PI * k, c = Math.cos(r * x), s = Math.sin(r * x), g = sine ? [s, r * c, -r * r * s] : [c, -r * s, -r * r * c];
    return [w[0] * g[0], w[1] * g[0] + w[0] * g[1], w[2] * g[0] + 2 * w[1] * g[1] + w[0] * g[2]];
  }
  const waves = (x) => [wave(x, 0, false), ...terms.map(([, k, sine]) => wave(x, k, sine))];
  // Shape and its derivatives by x, for coefficients c and a shape at the start.
  function shape(x, c, start, known = waves(x)) {
    const out = [0, 1, 2].map(() => new Float64Array(n)), left = smoothStep(x / 0.4);
    for (let j = 0; j < n; j++) {
      out[0][j] = start[j] * (1 - left[0]); out[1][j] = -start[j] * left[1] / 0.4; out[2][j] = -start[j] * left[2] / 0.16;
      for (let d = 0; d < 3; d++) out[d][j] += known[0][d] * plan.tuck[j];
    }
    terms.forEach(([direction], i) => { for (const [j, share] of direction) for (let d = 0; d < 3; d++) out[d][j] += c[i] * share * known[i + 1][d]; });
    return out;
  }
  const middles = Array.from({ length: STEPS }, (_, k) => waves((k + 0.5) / STEPS));

  // The orientation (rows of R) that a path leaves, from R with the momentum h in the world, in T seconds.
  function rollout(R, h, T, c, start) {
    R = R.map((row) => [...row]);
    const turning = norm3(h) > 1e-9, dt = T / STEPS;
    let strain = 0;
    F.fill(0, Q, Q + 7); F[Q + 6] = 1;
    for (let k = 0; k < STEPS; k++) {
      const [s, ds] = shape((k + 0.5) / STEPS, c, start, middles[k]);
      for (let j = 0; j < n; j++) {
        F[Q + 7 + j] = s[j];
        const beyond = Math.max(plan.low[j] - s[j], s[j] - plan.high[j], 0);
        strain += beyond * beyond;
      }
      f.connection(Q, A);
      const w = [0, 0, 0];
      for (let a = 0; a < 3; a++) for (let j = 0; j < n; j++) w[a] -= F[A + (3 + a) * n + j] * ds[j] / T;
      if (turning) { f.inertia(Q, L); const v = locked([0, 1, 2].map((a) => R[0][a] * h[0] + R[1][a] * h[1] + R[2][a] * h[2])); for (let a = 0; a < 3; a++) w[a] += v[a]; }
      turn(R, w.map((x) => x * dt));
    }
    return { R, strain: strain / STEPS };
  }
  // The angular part of L^-1 (0; m), by elimination.
  function locked(m) {
    const M = [0, 1, 2, 3, 4, 5].map((i) => [...Array.from({ length: 6 }, (_, j) => F[L + 6 * i + j]), i < 3 ? 0 : m[i - 3]]);
    for (let i = 0; i < 6; i++) for (let k = i + 1; k < 6; k++) { const r = M[k][i] / M[i][i]; for (let j = i; j < 7; j++) M[k][j] -= r * M[i][j]; }
    for (let i = 5; i >= 0; i--) { for (let j = i + 1; j < 6; j++) M[i][6] -= M[i][j] * M[j][6]; M[i][6] /= M[i][i]; }
    return [M[3][6], M[4][6], M[5][6]];
  }
  function turn(R, w) {   // R exp(w), w in the body
    const a = norm3(w), s = a > 1e-12 ? Math.sin(a) / a : 1, c = a > 1e-12 ? (1 - Math.cos(a)) / (a * a) : 0.5, [x, y, z] = w;
    const E = [[1 - c * (y * y + z * z), c * x * y - s * z, c * x * z + s * y], [c * x * y + s * z, 1 - c * (x * x + z * z), c * y * z - s * x],
      [c * x * z - s * y, c * y * z + s * x, 1 - c * (x * x + y * y)]];
    for (const row of R) { const [p, q, r] = row; for (let j = 0; j < 3; j++) row[j] = p * E[0][j] + q * E[1][j] + r * E[2][j]; }
  }
  // How far from upright: the turn that is left, about the body's x and y.
  function tilt(R) {
    const [x, y, z] = R[2], sine = Math.hypot(x, y), angle = Math.atan2(sine, z);   // up in the body
    return sine > 1e-9 ? [-angle * y / sine, angle * x / sine] : [angle, 0];
  }

  // Coefficients for a path from the state as it is.
  function find(R, h, T, start) {
    const weigh = 0.003, firmness = 4;
    const residual = (c) => { const { R: end, strain } = rollout(R, h, T, c, start); return [...tilt(end), firmness * Math.sqrt(strain)]; };
    const cost = (r, c, home) => r.reduce((sum, x) => sum + x * x, 0) + weigh ** 2 * c.reduce((sum, x, i) => sum + (x - home[i]) ** 2, 0);
    const starts = [];
    for (const side of [1, -1]) for (const scale of [0, 0.35, 0.55, 0.7, 0.85, 1, 1.1]) {
      const c = terms.map(([, , , value, mirrored]) => value * scale * (mirrored ? side : 1)), r = residual(c);
      starts.push({ c, r, total: cost(r, c, c), side: scale ? side : 0 });
    }
    starts.sort((a, b) => a.total - b.total);
    // From the best start, and if that leads nowhere from the best ones of the other kinds.
    const kinds = [...new Set(starts.map((x) => x.side))].map((side) => starts.find((x) => x.side === side));
    const deadline = performance.now() + 900;   // while it thinks, the page stands still
    let best = null;
    for (const start of kinds) {
      const found = improve(start, residual, cost, weigh, deadline);
      if (!best || found.total < best.total) best = found;
      if (off(best) < 0.01 || performance.now() > deadline) break;
    }
    return { c: best.c, left: off(best) };
  }
  const off = ({ r }) => Math.hypot(r[0], r[1]);
  function improve(best, residual, cost, weigh, deadline) {
    const home = best.c, size = home.length;
    let damping = 1e-3;
    for (let round = 0; round < 20 && off(best) > 0.003 && performance.now() < deadline; round++) {
      const J = Array.from({ length: size }, (_, i) => { const moved = best.c.map((x, k) => x + (k === i ? 1e-3 : 0)), r = residual(moved); return r.map((x, a) => (x - best.r[a]) / 1e-3); }), before = best.total;
      for (let attempt = 0; attempt < 5; attempt++) {
        const step = leastSquares(J, best.r, best.c.map((x, i) => x - home[i]), weigh, damping), longest = Math.max(...step.map(Math.abs));
        const c = best.c.map((x, i) => x + step[i] * Math.min(1, 0.5 / longest)), r = residual(c), total = cost(r, c, home);
        if (total < best.total) { best = { c, r, total }; damping = Math.max(1e-6, damping / 5); break; }
        damping *= 8;
      }
      if (best.total > 0.999 * before) break;
    }
    return best;
  }
  // (J J^T + (weigh^2 + damping) 1) step = -J r - weigh^2 (c - home), J by rows of coefficients.
  function leastSquares(J, r, away, weigh, damping) {
    const size = J.length, M = J.map((a, i) => [...J.map((b, j) => a.reduce((s, x, k) => s + x * b[k], 0) + (i === j ? weigh ** 2 + damping : 0)), -a.reduce((s, x, k) => s + x * r[k], 0) - weigh ** 2 * away[i]]);
    for (let i = 0; i < size; i++) for (let k = i + 1; k < size; k++) { const q = M[k][i] / M[i][i]; if (q) for (let j = i; j <= size; j++) M[k][j] -= q * M[i][j]; }
    const out = new Array(size).fill(0);
    for (let i = size - 1; i >= 0; i--) { let s = M[i][size]; for (let j = i + 1; j < size; j++) s -= M[i][j] * out[j]; out[i] = s / M[i][i]; }
    return out;
  }

  function orientation() {
    const [x, y, z, w] = physics.q.subarray(3, 7);
    return [[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
      [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]];
  }
  // Begin a turn that takes T seconds; gives the tilt that it will leave, rad.
  function begin(T) {
    const start = Array.from({ length: n }, (_, j) => physics.q[7 + j]), from = physics.state.time;
    const { c, left } = find(orientation(), physics.momentum().slice(3), T, start);
    physics.world.track = (t) => {
      const x = (t - from) / T;
      if (x >= 1) return null;
      const [s, ds, dds] = shape(x, c, start);
      return { s, ds: ds.map((v) => v / T), dds: dds.map((v) => v / (T * T)) };
    };
    physics.world.until = from + T;
    joints.forEach((j, k) => { physics.world.targets[k] = 0; });
    return left;
  }
  return { begin, tilt: () => Math.hypot(...tilt(orientation())), find, rollout, orientation };
}
