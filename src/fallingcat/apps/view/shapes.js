// Small vectors and matrices, and the triangles of primitive shapes.

// ---- small vectors and matrices (column-major, as WebGL wants them) ----
const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = (a) => { const n = Math.hypot(...a) || 1; return a.map((x) => x / n); };
const clamp = (x, low, high) => Math.min(high, Math.max(low, x));

function poseMatrix([x, y, z, a, b, c, d]) {
  return new Float32Array([
    1 - 2 * (b * b + c * c), 2 * (a * b + c * d), 2 * (a * c - b * d), 0,
    2 * (a * b - c * d), 1 - 2 * (a * a + c * c), 2 * (b * c + a * d), 0,
    2 * (a * c + b * d), 2 * (b * c - a * d), 1 - 2 * (a * a + b * b), 0,
    x, y, z, 1,
  ]);
}
function multiply(A, B) {
  const C = new Float32Array(16);
  for (let i = 0; i < 4; i++) for (let j = 0; j < 4; j++) {
    let s = 0;
    for (let k = 0; k < 4; k++) s += A[4 * k + i] * B[4 * j + k];
    C[4 * j + i] = s;
  }
  return C;
}
function perspective(fov, aspect, near, far) {
  const f = 1 / Math.tan(fov / 2), d = 1 / (near - far);
  return new Float32Array([f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (near + far) * d, -1, 0, 0, 2 * near * far * d, 0]);
}
function lookAt(eye, at) {
  const z = unit(sub(eye, at)), x = unit(cross([0, 0, 1], z)), y = cross(z, x);
  return new Float32Array([x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0, -dot(x, eye), -dot(y, eye), -dot(z, eye), 1]);
}
const IDENTITY = poseMatrix([0, 0, 0, 0, 0, 0, 1]);

// ---- shapes: lists of points and normals in the shape's own frame, and triangles ----
function grid(rows, columns, at) {
  const points = [], normals = [], triangles = [];
  for (let i = 0; i <= rows; i++) for (let j = 0; j <= columns; j++) { const [p, n] = at(i, j); points.push(p); normals.push(n); }
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) {
    const a = i * (columns + 1) + j, b = a + columns + 1;
    triangles.push(a, b, a + 1, a + 1, b, b + 1);
  }
  return { points, normals, triangles };
}
function ellipsoid([a, b, c]) {
  return grid(16, 24, (i, j) => {
    const u = Math.PI * i / 16, v = 2 * Math.PI * j / 24, n = [Math.sin(u) * Math.cos(v), Math.sin(u) * Math.sin(v), Math.cos(u)];
    return [[a * n[0], b * n[1], c * n[2]], unit([n[0] / a, n[1] / b, n[2] / c])];
  });
}
function cylinder([r, length]) {
  const h = length / 2, e = Math.min(r, h) * 0.12, s = Math.SQRT1_2;
  // Radius, height, and normal along a line from the middle of the top, over a rounded edge, to that of the bottom.
  const profile = [[0, h, 0, 1], [r - e, h, 0, 1], [r - e * (1 - s), h - e * (1 - s), s, s], [r, h - e, 1, 0],
    [r, e - h, 1, 0], [r - e * (1 - s), e * (1 - s) - h, s, -s], [r - e, -h, 0, -1], [0, -h, 0, -1]];
  return grid(profile.length - 1, 28, (i, j) => {
    const v = 2 * Math.PI * j / 28, [R, z, m, k] = profile[i];
    return [[R * Math.cos(v), R * Math.sin(v), z], [m * Math.cos(v), m * Math.sin(v), k]];
  });
}
function box(size) {
  const half = size.map((x) => x / 2), e = Math.min(...half) * 0.16, all = { points: [], normals: [], triangles: [] };
  for (let axis = 0; axis < 3; axis++) for (const side of [1, -1]) {
    const u = (axis + 1) % 3, v = (axis + 2) % 3, start = all.points.length;
    const steps = (k) => [-half[k], e - half[k], half[k] - e, half[k]];
    const face = grid(3, 3, (i, j) => {
      const p = [0, 0, 0];
      p[axis] = side * half[axis]; p[u] = steps(u)[i]; p[v] = side * steps(v)[j];
      const inner = p.map((x, k) => clamp(x, e - half[k], half[k] - e)), n = unit(sub(p, inner));
      return [inner.map((x, k) => x + e * n[k]), n];
    });
    all.points.push(...face.points); all.normals.push(...face.normals); all.triangles.push(...face.triangles.map((k) => k + start));
  }
  return all;
}
// Along z from 0 to 1, thin: its width is stretched apart from its length.
function arrow() {
  const profile = [[0, 1, 0.5, 0.9], [0.028, 0.86, 0.9, 0.4], [0.028, 0.86, 0, -1], [0.01, 0.86, 0, -1], [0.01, 0.86, 1, 0], [0.01, 0, 1, 0], [0, 0, 0, -1]];
  return grid(profile.length - 1, 20, (i, j) => {
    const v = 2 * Math.PI * j / 20, [R, z, m, k] = profile[i];
    return [[R * Math.cos(v), R * Math.sin(v), z], [m * Math.cos(v), m * Math.sin(v), k]];
  });
}
const SHAPES = { box, cylinder, ellipsoid, arrow };

// ---- meshes: places in a box as 16-bit numbers, and indices, in base64 ----
function bytesOf(base64) {
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let k = 0; k < text.length; k++) bytes[k] = text.charCodeAt(k);
  return bytes;
}
const CREASE = Math.cos(0.6);   // edges sharper than this are seen
function unpackMesh({ box: [low, high], points, triangles, wide }) {
  const places = new Uint16Array(bytesOf(points).buffer), raw = bytesOf(triangles).buffer;
  const corners = wide ? new Uint32Array(raw) : new Uint16Array(raw), at = [];
  for (let k = 0; k < places.length; k += 3) at.push([0, 1, 2].map((i) => low[i] + (high[i] - low[i]) * places[k + i] / 65535));
  const count = corners.length / 3, faces = [], around = at.map(() => []);
  for (let f = 0; f < count; f++) {
    const [a, b, c] = [0, 1, 2].map((k) => at[corners[3 * f + k]]), n = cross(sub(b, a), sub(c, a));
    faces.push({ n, u: unit(n) });
    for (let k = 0; k < 3; k++) around[corners[3 * f + k]].push(f);
  }
  // A corner's normal is the mean of the faces around it that are not beyond a crease; equal corners are one vertex.
  const made = { points: [], normals: [], triangles: [] }, known = at.map(() => []);
  for (let f = 0; f < count; f++) for (let k = 0; k < 3; k++) {
    const v = corners[3 * f + k], u = faces[f].u;
    let found = known[v].find((x) => dot(x.u, u) > 0.9995);
    if (!found) {
      const n = [0, 0, 0];
      for (const g of around[v]) if (dot(faces[g].u, u) > CREASE) for (let i = 0; i < 3; i++) n[i] += faces[g].n[i];
      found = { u, index: made.points.length };
      known[v].push(found); made.points.push(at[v]); made.normals.push(unit(n));
    }
    made.triangles.push(found.index);
  }
  return made;
}

// All shapes of a body in one list: 10 numbers a vertex (point, normal, colour), in the body's frame.
function bodyMesh(shapes, meshes) {
  const vertices = [], triangles = [];
  for (const shape of shapes) {
    const made = shape.kind === "mesh" ? meshes(shape.mesh) : SHAPES[shape.kind](shape.size), H = shape.matrix || poseMatrix(shape.pose), start = vertices.length / 10;
    made.points.forEach((p, k) => {
      const n = made.normals[k];
      for (let i = 0; i < 3; i++) vertices.push(H[i] * p[0] + H[4 + i] * p[1] + H[8 + i] * p[2] + H[12 + i]);
      for (let i = 0; i < 3; i++) vertices.push(H[i] * n[0] + H[4 + i] * n[1] + H[8 + i] * n[2]);
      vertices.push(...shape.rgba);
    });
    made.triangles.forEach((k) => triangles.push(k + start));
  }
  return { vertices: new Float32Array(vertices), triangles: new Uint32Array(triangles) };
}

// The axes of a frame, red, green and blue, at poses in one body.
function axesMesh(poses, length) {
  const shapes = [], turn = [[0, Math.SQRT1_2, 0, Math.SQRT1_2], [-Math.SQRT1_2, 0, 0, Math.SQRT1_2], [0, 0, 0, 1]];
  for (const pose of poses) {
    const H = poseMatrix(pose);
    turn.forEach((q, k) => {
      const M = multiply(H, poseMatrix([k === 0 ? length / 2 : 0, k === 1 ? length / 2 : 0, k === 2 ? length / 2 : 0, ...q]));
      shapes.push({ kind: "cylinder", size: [length * 0.035, length], matrix: M, rgba: [[0.85, 0.2, 0.2, 1], [0.2, 0.65, 0.25, 1], [0.2, 0.4, 0.9, 1]][k] });
    });
  }
  return bodyMesh(shapes);
}
