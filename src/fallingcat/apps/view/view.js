// Robots in a page: an orbiting camera and a player. Every <figure class="view"> holds its data as JSON; see fallingcat.apps.view.
// The three scripts share one closure, made by pages.py.

// ---- motions ----
const unpack = (base64) => new Float32Array(bytesOf(base64).buffer);
function Motion(scene, animation) {
  const still = scene.bodies.map((b) => poseMatrix(b.pose)), middle = (list) => [0, 1, 2].map((k) => list.reduce((s, M) => s + M[12 + k], 0) / (list.length || 1));
  if (!animation) return { at: () => still, middle, duration: 0, start: 0 };
  const times = unpack(animation.times), data = unpack(animation.poses), width = 7 * animation.bodies.length;
  function at(t) {
    let k = 0, high = times.length - 1;
    while (high - k > 1) { const m = (k + high) >> 1; if (times[m] <= t) k = m; else high = m; }
    const next = Math.min(k + 1, times.length - 1), span = times[next] - times[k], u = span > 0 ? clamp((t - times[k]) / span, 0, 1) : 0;
    const poses = still.slice();
    animation.bodies.forEach((body, j) => {
      const a = k * width + 7 * j, b = next * width + 7 * j, x = [];
      for (let i = 0; i < 7; i++) x.push((1 - u) * data[a + i] + u * data[b + i]);
      const n = Math.hypot(x[3], x[4], x[5], x[6]);
      for (let i = 3; i < 7; i++) x[i] /= n;
      poses[body] = poseMatrix(x);
    });
    return poses;
  }
  return { at, middle, duration: times[times.length - 1], start: animation.start };
}

// ---- hands ----
function orbit(canvas, view, home, limits, changed) {
  const down = new Map();
  let scrolled = 0, spread = 0;
  const turn = (dx, dy) => {
    view.azimuth -= dx; view.elevation = clamp(view.elevation + dy, -1.2, 1.5); changed();
  };
  const zoom = (factor) => { view.distance = clamp(view.distance * factor, limits[0], limits[1]); changed(); };
  canvas.addEventListener("pointerdown", (e) => { down.set(e.pointerId, [e.clientX, e.clientY]); canvas.setPointerCapture(e.pointerId); spread = 0; });
  canvas.addEventListener("pointermove", (e) => {
    const last = down.get(e.pointerId);
    if (!last) return;
    down.set(e.pointerId, [e.clientX, e.clientY]);
    if (down.size === 1) turn((e.clientX - last[0]) * 0.008, (e.clientY - last[1]) * 0.008);
    else {
      const [a, b] = [...down.values()], now = Math.hypot(a[0] - b[0], a[1] - b[1]);
      if (spread) zoom(spread / now);
      spread = now;
    }
  });
  for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) canvas.addEventListener(end, (e) => { down.delete(e.pointerId); spread = 0; });
  // A page that is being scrolled past the drawing goes on scrolling.
  window.addEventListener("scroll", () => { scrolled = performance.now(); }, { passive: true });
  canvas.addEventListener("wheel", (e) => {
    if (performance.now() - scrolled < 250 && !e.ctrlKey) return;
    e.preventDefault();
    zoom(Math.exp(clamp(e.deltaY, -60, 60) * (e.deltaMode ? 0.05 : 0.0025)));
  }, { passive: false });
  canvas.addEventListener("dblclick", () => { Object.assign(view, home); changed(); });
  canvas.addEventListener("keydown", (e) => {
    const act = { ArrowLeft: () => turn(0.1, 0), ArrowRight: () => turn(-0.1, 0), ArrowUp: () => turn(0, 0.1), ArrowDown: () => turn(0, -0.1),
      "+": () => zoom(0.9), "-": () => zoom(1.1), 0: () => { Object.assign(view, home); changed(); } }[e.key];
    if (act) { act(); e.preventDefault(); }
  });
}

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
const ICONS = { play: "M3 1.5v13l11-6.5z", pause: "M3 1.5h3.6v13H3zM9.4 1.5H13v13H9.4z" };
function icon(path) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "svg"), p = document.createElementNS("http://www.w3.org/2000/svg", "path");
  made.setAttribute("viewBox", "0 0 16 16"); p.setAttribute("d", path); made.append(p);
  return made;
}
function player(figure, motion, options, changed) {
  const state = { t: 0, playing: false, speed: options.speed || 1 };
  const button = element("button", { type: "button" }), time = element("output", {});
  const slider = element("input", { type: "range", min: 0, max: motion.duration, step: "any", value: 0, "aria-label": "time" });
  const speeds = [...new Set([0.1, 0.25, 0.5, 1, 2, state.speed])].sort((a, b) => a - b);
  const speed = element("select", { "aria-label": "speed" }, ...speeds.map((x) => element("option", x === state.speed ? { value: x, selected: "" } : { value: x }, x + "×")));
  const cursors = [...document.querySelectorAll("svg .cursor")];
  function show() {
    slider.value = state.t;
    time.textContent = (motion.start + state.t).toFixed(2) + " s";
    for (const c of cursors) {
      const [t0, t1, x0, x1] = ["t0", "t1", "x0", "x1"].map((k) => Number(c.dataset[k]));
      c.setAttribute("transform", `translate(${x0 + (x1 - x0) * clamp((motion.start + state.t - t0) / (t1 - t0), 0, 1)} 0)`);
    }
  }
  function play(on) {
    state.playing = on;
    button.setAttribute("aria-label", on ? "pause" : "play");
    button.replaceChildren(icon(on ? ICONS.pause : ICONS.play));
    if (on && state.t >= motion.duration) state.t = 0;
    changed();
  }
  function advance(seconds) {
    if (!state.playing) return false;
    const pause = Math.min(0.8, 0.25 * motion.duration) * state.speed;   // a rest at the end, then once more
    state.over = (state.over || 0) + (state.t >= motion.duration ? seconds * state.speed : 0);
    state.t = Math.min(motion.duration, state.t + seconds * state.speed);
    if (state.over > pause) { state.t = 0; state.over = 0; }
    show();
    return true;
  }
  button.addEventListener("click", () => play(!state.playing));
  slider.addEventListener("input", () => { play(false); state.t = Number(slider.value); state.over = 0; show(); changed(); });
  speed.addEventListener("change", () => { state.speed = Number(speed.value); });
  figure.querySelector(".stage").after(element("div", { class: "player" }, button, slider, time, speed));
  const still = /^#t=([0-9.]+)$/.exec(location.hash);   // page.html#t=0.3 stands still at a time
  if (still) state.t = clamp(Number(still[1]) - motion.start, 0, motion.duration);
  show();
  play(options.autoplay && !still && !matchMedia("(prefers-reduced-motion: reduce)").matches);
  return { state, advance };
}

// ---- joints: bodies as products of simple motions, see chain.py ----
function moved(scene, x) {
  const poses = [];
  for (const { parent, place, steps } of scene.chain) {
    let H = multiply(parent < 0 ? IDENTITY : poses[parent], poseMatrix(place));
    for (const [linear, angular, k, factor, offset] of steps) {
      const value = factor * x[k] + offset, turn = Math.hypot(...angular), s = turn ? Math.sin(turn * value / 2) / turn : 0;
      H = multiply(H, poseMatrix([...linear.map((a) => a * value), ...angular.map((a) => a * s), Math.cos(turn * value / 2)]));
    }
    poses.push(H);
  }
  return poses;
}
// Behind the point, so that a hundredth of the range is seen.
const digits = ({ low, high }) => clamp(2 - Math.floor(Math.log10(high - low)), 2, 6);
function jointPanel(scene, x, changed) {
  const rows = scene.sliders.map((s, k) => {
    const input = element("input", { type: "range", min: s.low, max: s.high, step: "any", value: x[k], "aria-label": s.name, "data-slider": k });
    const value = element("output", {}), row = element("label", { class: "joint", "data-body": s.body, title: `${s.low} to ${s.high} ${s.unit}${s.limited ? "" : ", no limits"}` }, element("span", {}, s.name), input, value);
    const show = () => { input.value = x[k]; value.textContent = x[k].toFixed(digits(s)); row.classList.toggle("edge", s.limited && Math.min(x[k] - s.low, s.high - x[k]) < 1e-3 * (s.high - s.low)); };
    input.addEventListener("input", () => { x[k] = Number(input.value); show(); changed(); });
    show();
    return { row, show, base: s.base };
  });
  const reset = element("button", { type: "button" }, "as it was");
  reset.addEventListener("click", () => { scene.sliders.forEach((s, k) => { x[k] = s.value; }); rows.forEach((r) => r.show()); changed(); });
  const base = rows.filter((r) => r.base).map((r) => r.row), joints = rows.filter((r) => !r.base).map((r) => r.row);
  const parts = [element("div", { class: "rows" }, ...joints)];
  if (base.length) parts.push(element("details", base.length && !joints.length ? { open: "" } : {}, element("summary", {}, "base"), element("div", { class: "rows" }, ...base)));
  return element("div", { class: "panel", hidden: "" }, ...parts, reset);
}

// ---- one figure ----
function start(figure) {
  const { scene, animation, options } = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
  const canvas = figure.querySelector("canvas"), bounds = animation && !options.follow ? animation.bounds : scene.bounds;
  const renderer = Renderer(canvas, scene, options, bounds, (animation || scene).bounds[0][2]);
  if (!renderer) { figure.dataset.view = "unsupported"; return; }
  const motion = Motion(scene, animation), first = motion.middle(motion.at(0));
  const home = { azimuth: -0.85, elevation: 0.33, distance: 1 }, fits = new Map();
  const fit = (aspect) => { const k = aspect.toFixed(2); if (!fits.has(k)) fits.set(k, renderer.fit(home, aspect)); return fits.get(k); };
  const view = { ...home, away: (aspect) => fit(aspect).away, cover: () => covered() };
  const x = (scene.sliders || []).map((s) => s.value), movable = !animation && x.length > 0;
  const label = element("p", { class: "name" }), narrow = matchMedia("(max-width: 40rem)");
  let panel = null;
  // The sliders stand beside the robot, not before it, and the switches below; on a phone both are below, and the hint above.
  const covered = () => (narrow.matches ? [28, 0, 0, 0] : panel && !panel.hidden ? [0, panel.offsetWidth + 10, 40, 0] : [0, 0, 0, 0]);
  let hover = null, touched = false, listed = -2, lit = -2;
  // Lines of tables and sliders that name a body light up with it, and it with them.
  const lines = options.linked ? [...document.querySelectorAll("[data-body]")] : [];
  const light = (body) => { for (const line of [...lines, ...figure.querySelectorAll(".joint")]) line.classList.toggle("lit", Number(line.dataset.body) === body); };
  let dirty = true, visible = true, last = 0, scheduled = false, control = null;
  const wake = () => { dirty = true; if (!scheduled) { scheduled = true; requestAnimationFrame(frame); } };
  function frame(now) {
    scheduled = false;
    const seconds = Math.min(0.1, (now - last) / 1000);
    last = now;
    if (!visible) return;
    const playing = control && control.advance(seconds);
    if (dirty || playing) {
      const poses = movable && touched ? moved(scene, x) : motion.at(control ? control.state.t : 0), way = options.follow ? sub(motion.middle(poses), first) : [0, 0, 0];
      const target = fit(renderer.free(view).aspect).at.map((x, k) => x + way[k]);
      const picked = hover ? renderer.pick(view, poses, target, ...hover) : -1, body = scene.bodies[picked];
      renderer.shown.chosen = body ? picked : listed;
      renderer.draw(view, poses, target);
      label.textContent = body ? `${body.name}, ${body.mass} kg` : listed >= 0 ? scene.bodies[listed].name : "";
      if (renderer.shown.chosen !== lit) { lit = renderer.shown.chosen; light(lit); }
      figure.poses = poses;
      dirty = false;
    }
    figure.dataset.view = "ready";
    if (playing) { scheduled = true; requestAnimationFrame(frame); }
  }
  if (motion.duration > 0) control = player(figure, motion, options, wake);
  orbit(canvas, view, home, [0.2, 4], wake);
  canvas.addEventListener("pointermove", (e) => { hover = e.pointerType === "mouse" && !e.buttons ? [e.offsetX, e.offsetY] : null; wake(); });
  canvas.addEventListener("pointerleave", () => { hover = null; wake(); });
  for (const line of lines) {
    line.addEventListener("pointerenter", () => { listed = Number(line.dataset.body); wake(); });
    line.addEventListener("pointerleave", () => { listed = -2; wake(); });
  }
  if (options.tools !== false) tools();
  function tools() {
    const bar = element("div", { class: "tools" }), stage = figure.querySelector(".stage");
    const toggle = (name, act, title) => {
      const button = element("button", { type: "button", "aria-pressed": "false", title }, name);
      button.addEventListener("click", () => { const on = button.getAttribute("aria-pressed") !== "true"; button.setAttribute("aria-pressed", on); act(on); wake(); });
      bar.append(button);
      return button;
    };
    if (movable) {
      panel = jointPanel(scene, x, () => { touched = true; ranges(); wake(); });
      panel.addEventListener("pointerover", (e) => { const row = e.target.closest(".joint"); listed = row ? Number(row.dataset.body) : -2; wake(); });
      panel.addEventListener("pointerleave", () => { listed = -2; wake(); });
      toggle("joints", (on) => { panel.hidden = !on; }, "Sliders for the joints");
    }
    if (scene.frames && scene.frames.length) toggle("frames", (on) => { renderer.shown.frames = on; }, "Frames of the links: x red, y green, z blue");
    if (scene.bodies.some((b) => b.mass > 0)) toggle("centre of mass", (on) => { renderer.shown.centre = on; }, "Of all that moves");
    stage.append(bar, ...(panel ? [panel] : []));
  }
  // Where the joints stand between their limits, in tables.
  function ranges() {
    for (const mark of options.linked ? document.querySelectorAll("[data-range]") : []) {
      const k = Number(mark.dataset.range), low = Number(mark.dataset.low), high = Number(mark.dataset.high), share = (x[k] - low) / (high - low);
      mark.firstElementChild.style.left = 100 * clamp(share, 0, 1) + "%";
      mark.classList.toggle("out", share < -1e-4 || share > 1 + 1e-4);
      const told = mark.closest("tr").querySelector(".now");
      if (told) told.textContent = x[k].toFixed(Math.max(3, digits(scene.sliders[k])));
    }
  }
  canvas.after(label);
  const fine = matchMedia("(pointer: fine)").matches;
  canvas.after(element("p", { class: "hint" }, fine ? "drag to turn, wheel to zoom" : "drag to turn, pinch to zoom"));
  canvas.addEventListener("webglcontextlost", (e) => { e.preventDefault(); figure.dataset.view = "unsupported"; });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { renderer.recolour(); wake(); });
  new ResizeObserver(wake).observe(canvas);
  new IntersectionObserver((entries) => { visible = entries[entries.length - 1].isIntersecting; if (visible) wake(); }).observe(canvas);
  wake();
}

window.addEventListener("error", (e) => { document.documentElement.dataset.error = e.message; });
document.querySelectorAll("figure.view").forEach(start);
