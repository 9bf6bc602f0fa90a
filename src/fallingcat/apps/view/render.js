// A small WebGL 2 renderer: shaded bodies, a floor with a grid and a soft shadow.

// ---- shaders ----
const BODY_VERTEX = `#version 300 es
  layout(location=0) in vec3 point; layout(location=1) in vec3 normal; layout(location=2) in vec4 colour;
  uniform mat4 camera, body; out vec3 n, at; out vec4 c;
  void main() { vec4 w = body * vec4(point, 1.); at = w.xyz; n = mat3(body) * normal; c = colour; gl_Position = camera * w; }`;
const BODY_FRAGMENT = `#version 300 es
  precision highp float; in vec3 n, at; in vec4 c; uniform vec3 eye, light; uniform vec4 tint; uniform float glow; out vec4 pixel;
  void main() {
    vec3 V = normalize(eye - at), N = normalize(n), base = pow(mix(c.rgb, tint.rgb, tint.a), vec3(2.2));
    if (dot(N, V) < -.25) N = -N;
    float wrap = clamp((dot(N, light) + .35) / 1.35, 0., 1.), fill = .5 + .5 * dot(N, V);
    vec3 sky = mix(vec3(.30, .28, .27), vec3(.62, .66, .72), .5 + .5 * N.z);
    vec3 lit = base * (.62 * sky + .72 * wrap * wrap * vec3(1., .97, .92) + .16 * fill);
    lit += .10 * pow(max(dot(N, normalize(light + V)), 0.), 36.);
    lit += (.05 + .10 * glow) * pow(1. - max(dot(N, V), 0.), 3.) * vec3(.8, .9, 1.);
    pixel = vec4(pow(lit, vec3(1. / 2.2)) * c.a, c.a);
  }`;
const PICK_FRAGMENT = `#version 300 es
  precision highp float; uniform float id; out vec4 pixel;
  void main() { pixel = vec4(mod(id, 256.) / 255., floor(id / 256.) / 255., 0., 1.); }`;
const SHADOW_VERTEX = `#version 300 es
  layout(location=0) in vec3 point; uniform mat4 body; uniform vec3 light; uniform vec4 place; out float height;
  void main() {
    vec3 w = (body * vec4(point, 1.)).xyz; height = (w.z - place.z) / place.w;
    vec2 p = w.xy - light.xy / light.z * (w.z - place.z);
    gl_Position = vec4((p - place.xy) / place.w, 0., 1.);
  }`;
const SHADOW_FRAGMENT = `#version 300 es
  precision highp float; in float height; out vec4 pixel;
  void main() { float a = height < -.01 ? 0. : 1. / (1. + 4. * height); pixel = vec4(a); }`;
const FLOOR_VERTEX = `#version 300 es
  layout(location=0) in vec2 corner; uniform mat4 camera; uniform vec4 place; uniform float reach; out vec2 at;
  void main() { at = place.xy + corner * reach; gl_Position = camera * vec4(at, place.z, 1.); }`;
const FLOOR_FRAGMENT = `#version 300 es
  precision highp float; in vec2 at; uniform sampler2D shadow; uniform vec4 place; uniform vec3 floorColour, lineColour;
  uniform float reach, mesh, strength, above; out vec4 pixel;
  void main() {
    vec2 uv = (at - place.xy) / place.w * .5 + .5; float dark = 0.;
    for (int i = -3; i <= 3; i++) for (int j = -3; j <= 3; j++) dark += texture(shadow, uv + vec2(i, j) * .0052).r;
    dark *= .62 / 49. * step(0., uv.x) * step(0., uv.y) * step(uv.x, 1.) * step(uv.y, 1.);
    vec2 cells = at / mesh, near = abs(fract(cells - .5) - .5) / max(fwidth(cells), 1e-5);
    float line = (1. - min(min(near.x, near.y), 1.)) * strength;
    float fade = 1. - smoothstep(.35, 1., length(at - place.xy) / reach);
    float a = fade * above * .92;
    vec3 colour = mix(mix(floorColour, lineColour, line), vec3(.03, .04, .06), dark);
    float cover = max(a * mix(.55, 1., line), dark * fade * above);
    pixel = vec4(colour * cover, cover);
  }`;

function program(gl, vertex, fragment) {
  const p = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const s = gl.createShader(kind);
    gl.shaderSource(s, source); gl.compileShader(s); gl.attachShader(p, s);
    if (!gl.getShaderParameter(s, gl.COMPILE_STATUS) && !gl.isContextLost()) throw new Error(gl.getShaderInfoLog(s));
  }
  gl.linkProgram(p);
  const at = {}, count = gl.getProgramParameter(p, gl.ACTIVE_UNIFORMS) || 0;
  for (let k = 0; k < count; k++) { const name = gl.getActiveUniform(p, k).name; at[name] = gl.getUniformLocation(p, name); }
  return { p, at };
}
// The corners of the box around a body's vertices.
function cornersOf(vertices) {
  const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity], found = [];
  for (let k = 0; k < vertices.length; k += 10) for (let i = 0; i < 3; i++) { low[i] = Math.min(low[i], vertices[k + i]); high[i] = Math.max(high[i], vertices[k + i]); }
  for (let k = 0; k < 8; k++) found.push([0, 1, 2].map((i) => ((k >> i) & 1 ? high[i] : low[i])));
  return found;
}
function upload(gl, mesh) {
  const vao = gl.createVertexArray();
  gl.bindVertexArray(vao);
  gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ARRAY_BUFFER, mesh.vertices, gl.STATIC_DRAW);
  [[0, 3, 0], [1, 3, 12], [2, 4, 24]].forEach(([k, size, offset]) => {
    gl.enableVertexAttribArray(k); gl.vertexAttribPointer(k, size, gl.FLOAT, false, 40, offset);
  });
  gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, mesh.triangles, gl.STATIC_DRAW);
  gl.bindVertexArray(null);
  return { vao, count: mesh.triangles.length };
}

function transform(M, p) { return [0, 1, 2].map((i) => M[i] * p[0] + M[4 + i] * p[1] + M[8 + i] * p[2] + M[12 + i]); }
// Of all bodies at their poses; null when they have no mass.
function centreOfMass(bodies, poses) {
  let mass = 0; const sum = [0, 0, 0];
  bodies.forEach((b, k) => { const c = transform(poses[k], b.centre || [0, 0, 0]); mass += b.mass; for (let i = 0; i < 3; i++) sum[i] += b.mass * c[i]; });
  return mass > 0 ? sum.map((x) => x / mass) : null;
}

// ---- the renderer ----
const FIELD = 0.5, SHADOW = 512, LIGHT = unit([0.35, -0.45, 0.9]);
function Renderer(canvas, scene, options, bounds, lowest) {
  const gl = canvas.getContext("webgl2", { antialias: true, alpha: true, premultipliedAlpha: true });
  if (!gl) return null;
  const bodies = program(gl, BODY_VERTEX, BODY_FRAGMENT), shade = program(gl, SHADOW_VERTEX, SHADOW_FRAGMENT);
  const numbered = program(gl, BODY_VERTEX, PICK_FRAGMENT);
  const floor = program(gl, FLOOR_VERTEX, FLOOR_FRAGMENT), size = Math.max(Math.hypot(...sub(bounds[1], bounds[0])), 1e-3);
  const parts = [];
  const unpacked = new Map(), meshes = (k) => { if (!unpacked.has(k)) unpacked.set(k, unpackMesh(scene.meshes[k])); return unpacked.get(k); };
  for (const clear of [false, true]) for (let b = -1; b < scene.bodies.length; b++) {
    const own = scene.shapes.filter((s) => s.body === b && (s.rgba[3] < 1) === clear);
    if (!own.length) continue;
    const mesh = bodyMesh(own, meshes);
    parts.push({ body: b, clear, corners: cornersOf(mesh.vertices), ...upload(gl, mesh) });
  }
  unpacked.clear();
  // What can be switched on: the links' frames, and the centre of mass.
  const axes = [], wanted = new Map();
  for (const f of scene.frames || []) wanted.set(f.body, [...(wanted.get(f.body) || []), f.pose]);
  for (const [b, poses] of wanted) axes.push({ body: b, ...upload(gl, axesMesh(poses, 0.07 * size)) });
  const ball = upload(gl, bodyMesh([{ kind: "ellipsoid", size: [1, 1, 1].map((x) => x * 0.016 * size), pose: [0, 0, 0, 0, 0, 0, 1], rgba: [0.92, 0.47, 0.08, 1] }]));
  const needles = [], needle = (k) => needles[k] || (needles[k] = upload(gl, bodyMesh([{ kind: "arrow", size: [], pose: [0, 0, 0, 0, 0, 0, 1], rgba: [[0.78, 0.3, 0.2, 1], [0.2, 0.55, 0.35, 1]][k] }])));
  const shown = { frames: false, centre: false, chosen: -2, ground: undefined };   // ground: another height, or null for none
  const square = gl.createVertexArray();
  gl.bindVertexArray(square);
  gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]), gl.STATIC_DRAW);
  gl.enableVertexAttribArray(0); gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
  const texture = gl.createTexture(), frame = gl.createFramebuffer();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, SHADOW, SHADOW, 0, gl.RGBA, gl.UNSIGNED_BYTE, null);
  for (const [k, v] of [["MIN_FILTER", "LINEAR"], ["MAG_FILTER", "LINEAR"], ["WRAP_S", "CLAMP_TO_EDGE"], ["WRAP_T", "CLAMP_TO_EDGE"]])
    gl.texParameteri(gl.TEXTURE_2D, gl["TEXTURE_" + k], gl[v]);
  gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);

  const one = gl.createFramebuffer();
  gl.bindFramebuffer(gl.FRAMEBUFFER, one);
  for (const [kind, format] of [[gl.COLOR_ATTACHMENT0, gl.RGBA8], [gl.DEPTH_ATTACHMENT, gl.DEPTH_COMPONENT16]]) {
    const buffer = gl.createRenderbuffer();
    gl.bindRenderbuffer(gl.RENDERBUFFER, buffer);
    gl.renderbufferStorage(gl.RENDERBUFFER, format, 1, 1);
    gl.framebufferRenderbuffer(gl.FRAMEBUFFER, kind, gl.RENDERBUFFER, buffer);
  }
  gl.bindFramebuffer(gl.FRAMEBUFFER, null);

  let ground = typeof options.ground === "number" ? options.ground : lowest;
  const power = 10 ** Math.floor(Math.log10(size / 4)), mesh = power * [1, 2, 5, 10].find((m) => m * power * 1.01 >= size / 8);
  let colours = theme();
  const matrixOf = (poses, b) => (b < 0 ? IDENTITY : poses[b]);

  function theme() {
    const style = getComputedStyle(canvas), read = (name) => {
      const hex = style.getPropertyValue(name).trim().replace("#", "");
      return [0, 2, 4].map((k) => parseInt(hex.slice(k, k + 2), 16) / 255);
    };
    const ink = read("--soft");
    return { floor: read("--floor"), line: ink, strength: parseFloat(style.getPropertyValue("--grid")) || 0.3, glow: ink[0] > 0.5 ? 1 : 0 };
  }
  function castShadow(poses, place) {
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    gl.viewport(0, 0, SHADOW, SHADOW);
    gl.clearColor(0, 0, 0, 0); gl.clear(gl.COLOR_BUFFER_BIT);
    gl.disable(gl.DEPTH_TEST); gl.enable(gl.BLEND); gl.blendEquation(gl.MAX); gl.blendFunc(gl.ONE, gl.ONE);
    gl.useProgram(shade.p);
    gl.uniform3fv(shade.at.light, LIGHT); gl.uniform4fv(shade.at.place, place);
    for (const part of parts) {
      gl.uniformMatrix4fv(shade.at.body, false, matrixOf(poses, part.body));
      gl.bindVertexArray(part.vao); gl.drawElements(gl.TRIANGLES, part.count, gl.UNSIGNED_INT, 0);
    }
    gl.blendEquation(gl.FUNC_ADD); gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }
  function drawFloor(camera, eye, place) {
    gl.useProgram(floor.p);
    gl.uniformMatrix4fv(floor.at.camera, false, camera); gl.uniform4fv(floor.at.place, place);
    gl.uniform3fv(floor.at.floorColour, colours.floor); gl.uniform3fv(floor.at.lineColour, colours.line);
    gl.uniform1f(floor.at.reach, 1.9 * size); gl.uniform1f(floor.at.mesh, mesh); gl.uniform1f(floor.at.strength, colours.strength);
    gl.uniform1f(floor.at.above, eye[2] > ground ? 1 : 0.25);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.depthMask(false); gl.bindVertexArray(square); gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4); gl.depthMask(true);
  }
  function drawBodies(camera, eye, poses) {
    gl.useProgram(bodies.p);
    gl.uniformMatrix4fv(bodies.at.camera, false, camera);
    gl.uniform3fv(bodies.at.eye, eye); gl.uniform3fv(bodies.at.light, LIGHT); gl.uniform1f(bodies.at.glow, colours.glow);
    const far = (part) => { const M = matrixOf(poses, part.body); return Math.hypot(M[12] - eye[0], M[13] - eye[1], M[14] - eye[2]); };
    const order = [...parts.filter((p) => !p.clear), ...parts.filter((p) => p.clear).sort((a, b) => far(b) - far(a))];
    for (const part of order) {
      gl.depthMask(!part.clear);
      // Of a clear shape only the front is seen.
      if (part.clear) gl.enable(gl.CULL_FACE); else gl.disable(gl.CULL_FACE);
      gl.uniform4fv(bodies.at.tint, part.body === shown.chosen ? [0.95, 0.6, 0.15, 0.75] : [0, 0, 0, 0]);
      gl.uniformMatrix4fv(bodies.at.body, false, matrixOf(poses, part.body));
      gl.bindVertexArray(part.vao); gl.drawElements(gl.TRIANGLES, part.count, gl.UNSIGNED_INT, 0);
    }
    gl.depthMask(true); gl.disable(gl.CULL_FACE);
    gl.uniform4fv(bodies.at.tint, [0, 0, 0, 0]);
    if (!shown.frames && !shown.centre && !made.arrows.length) return;
    gl.clear(gl.DEPTH_BUFFER_BIT);   // they are seen through the bodies
    if (shown.frames) for (const part of axes) {
      gl.uniformMatrix4fv(bodies.at.body, false, matrixOf(poses, part.body));
      gl.bindVertexArray(part.vao); gl.drawElements(gl.TRIANGLES, part.count, gl.UNSIGNED_INT, 0);
    }
    for (const { from, along, colour } of made.arrows) {   // from a point along a vector, seen through the bodies
      const length = Math.hypot(...along);
      if (!(length > 1e-6)) continue;
      const mesh = needle(colour), z = unit(along), x = unit(cross(Math.abs(z[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0], z)), y = cross(z, x), thick = 0.5 * size;
      gl.uniformMatrix4fv(bodies.at.body, false, new Float32Array([...x.map((v) => v * thick), 0, ...y.map((v) => v * thick), 0, ...z.map((v) => v * length), 0, ...from, 1]));
      gl.bindVertexArray(mesh.vao); gl.drawElements(gl.TRIANGLES, mesh.count, gl.UNSIGNED_INT, 0);
    }
    const centre = shown.centre && centreOfMass(scene.bodies, poses);
    if (centre) {
      gl.uniformMatrix4fv(bodies.at.body, false, poseMatrix([...centre, 0, 0, 0, 1]));
      gl.bindVertexArray(ball.vao); gl.drawElements(gl.TRIANGLES, ball.count, gl.UNSIGNED_INT, 0);
    }
  }
  // Corners of all bodies as they stand at first, or of the box around a whole motion.
  const first = scene.bodies.map((b) => poseMatrix(b.pose)), edges = bounds === scene.bounds ? parts.flatMap((part) => part.corners.map((p) => transform(matrixOf(first, part.body), p))) : [];
  if (!edges.length) for (let k = 0; k < 8; k++) edges.push([0, 1, 2].map((i) => bounds[(k >> i) & 1][i]));
  // Where to look and from how far, so that everything seen from the first direction fills the canvas; turning does not change it.
  function fit(home, aspect) {
    const c = Math.cos(home.elevation), back = [c * Math.cos(home.azimuth), c * Math.sin(home.azimuth), Math.sin(home.elevation)];
    const right = unit(cross([0, 0, 1], back)), up = cross(back, right), tall = Math.tan(FIELD / 2) * 0.93, wide = tall * aspect;
    let at = bounds[0].map((x, k) => (x + bounds[1][k]) / 2), away = size;
    for (let round = 0; round < 6; round++) {
      const seen = edges.map((p) => sub(p, at)).map((d) => [dot(d, right), dot(d, up), dot(d, back)]);
      away = Math.max(0.3 * size, ...seen.map(([x, y, z]) => z + Math.max(Math.abs(x) / wide, Math.abs(y) / tall)));
      const shares = (k) => seen.map((d) => d[k] / (away - d[2])), middle = (k) => (Math.max(...shares(k)) + Math.min(...shares(k))) / 2 * away;
      const [dx, dy] = [middle(0), middle(1)];
      at = at.map((x, k) => x + dx * right[k] + dy * up[k]);
    }
    return { at, away };
  }
  // The part of the canvas that nothing covers, which the drawing is made for: how high, where its middle is, both in clip space, and
  // its aspect. view.cover: pixels that are covered at the top, on the right, at the bottom, on the left.
  function free(view) {
    const w = canvas.clientWidth, h = canvas.clientHeight, [top, right, bottom, left] = view.cover ? view.cover() : [0, 0, 0, 0];
    const wide = Math.max(1, w - left - right), tall = Math.max(1, h - top - bottom);
    return { scale: tall / h, x: (left - right) / w, y: (bottom - top) / h, aspect: wide / tall };
  }
  // The eye and the camera's matrix, at the size of the canvas in pixels.
  function look(view, target) {
    const scale = Math.min(window.devicePixelRatio || 1, 2), w = Math.round(canvas.clientWidth * scale), h = Math.round(canvas.clientHeight * scale);
    if (!w || !h) return null;
    const part = free(view), place = [part.scale, 0, 0, 0, 0, part.scale, 0, 0, 0, 0, 1, 0, part.x, part.y, 0, 1];
    const c = Math.cos(view.elevation), away = view.distance * view.away(part.aspect);
    const eye = [target[0] + away * c * Math.cos(view.azimuth), target[1] + away * c * Math.sin(view.azimuth), target[2] + away * Math.sin(view.elevation)];
    return { w, h, scale, eye, camera: multiply(place, multiply(perspective(FIELD, w / h, away * 0.02, away + 20 * size), lookAt(eye, target))) };
  }
  function draw(view, poses, target) {
    const seen = look(view, target);
    if (!seen) return;
    const floored = options.ground !== false && shown.ground !== null;
    if (typeof shown.ground === "number") ground = shown.ground;
    const { w, h, eye, camera } = seen, place = [target[0], target[1], ground, 0.95 * size];
    if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
    if (floored) castShadow(poses, place);
    gl.viewport(0, 0, w, h);
    gl.clearColor(0, 0, 0, 0); gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST); gl.enable(gl.BLEND); gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    // Seen from above the floor lies behind everything, seen from below in front of it.
    if (floored && eye[2] > ground) drawFloor(camera, eye, place);
    drawBodies(camera, eye, poses);
    if (floored && eye[2] <= ground) drawFloor(camera, eye, place);
  }
  // The body under a point of the canvas, or -1: the bodies drawn in their numbers, into a single pixel.
  function pick(view, poses, target, x, y) {
    const seen = look(view, target), pixel = new Uint8Array(4);
    if (!seen) return -1;
    gl.bindFramebuffer(gl.FRAMEBUFFER, one);
    gl.viewport(-Math.round(x * seen.scale), Math.round(y * seen.scale) - seen.h, seen.w, seen.h);
    gl.clearColor(0, 0, 0, 0); gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST); gl.disable(gl.BLEND);
    gl.useProgram(numbered.p);
    gl.uniformMatrix4fv(numbered.at.camera, false, seen.camera);
    for (const part of parts) {
      gl.uniform1f(numbered.at.id, part.body + 2);
      gl.uniformMatrix4fv(numbered.at.body, false, matrixOf(poses, part.body));
      gl.bindVertexArray(part.vao); gl.drawElements(gl.TRIANGLES, part.count, gl.UNSIGNED_INT, 0);
    }
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    return pixel[0] + 256 * pixel[1] - 2;
  }
  const made = { draw, pick, fit, free, size, shown, arrows: [], recolour: () => { colours = theme(); }, canvas };
  return made;
}
