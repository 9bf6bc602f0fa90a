// The page: a stage that fills the window, hands, switches, sliders, and two charts.
// `element`, `orbit`, `Renderer` and small vectors come from the drawings of fallingcat.apps.view.

const SHORTEST_CHART = 1, KEPT = 14;   // seconds in the charts
const near = (a, b, share) => a.map((x, k) => x + share * (b[k] - x));

// A chart of the last seconds: lines that share an axis which widens with them.
function Chart(canvas, colours) {
  const samples = [];
  return {
    clear: () => { samples.length = 0; },
    add: (t, values) => { samples.push([t, values]); while (samples.length && samples[0][0] < t - KEPT) samples.shift(); },
    draw: () => {
      const scale = Math.min(window.devicePixelRatio || 1, 2), w = canvas.clientWidth, h = canvas.clientHeight, g = canvas.getContext("2d");
      if (!w || !h) return;
      if (canvas.width !== Math.round(w * scale)) { canvas.width = Math.round(w * scale); canvas.height = Math.round(h * scale); }
      g.setTransform(scale, 0, 0, scale, 0, 0); g.clearRect(0, 0, w, h);
      if (samples.length < 2) return;
      let low = Infinity, high = -Infinity;
      for (const [, values] of samples) for (const v of values) { low = Math.min(low, v); high = Math.max(high, v); }
      const air = 0.12 * Math.max(high - low, 1e-3 * Math.max(Math.abs(high), Math.abs(low)), 1e-6), end = samples[samples.length - 1][0], style = getComputedStyle(canvas);
      low -= air; high += air;
      const begin = samples[0][0], X = (t) => (t - begin) / clamp(end - begin, SHORTEST_CHART, KEPT) * w, Y = (v) => h - (v - low) / (high - low) * h;
      g.strokeStyle = style.getPropertyValue("--line"); g.lineWidth = 1;
      if (low < 0 && high > 0) { g.beginPath(); g.moveTo(0, Y(0)); g.lineTo(w, Y(0)); g.stroke(); }
      colours.forEach((name, k) => {
        g.strokeStyle = style.getPropertyValue(name); g.lineWidth = 1.8; g.lineJoin = "round"; g.beginPath();
        samples.forEach(([t, values], i) => { if (i) g.lineTo(X(t), Y(values[k])); else g.moveTo(X(t), Y(values[k])); });
        g.stroke();
      });
    },
  };
}

async function play(root) {
  const data = JSON.parse(document.getElementById("data").textContent), canvas = root.querySelector("canvas.stage"), $ = (name) => root.querySelector(name);
  const renderer = Renderer(canvas, data.scene, { ground: true }, data.scene.bounds, data.scene.bounds[0][2]);
  if (!renderer) { root.dataset.play = "unsupported"; return; }
  const physics = await Physics(data), righting = data.plan ? Righting(physics) : null, { world } = physics, size = data.size;
  const home = { azimuth: -0.85, elevation: 0.24, distance: 1 }, view = { ...home };
  let camera = null, running = true, speed = 1, idle = 0, reference = null, message = "", told = 0;

  // ---- looking ----
  const fits = new Map();
  const fit = (aspect) => { const k = aspect.toFixed(2); if (!fits.has(k)) fits.set(k, renderer.fit(home, Number(k))); return fits.get(k); };
  view.away = (aspect) => (narrow.matches ? 1.2 : 1.5) * fit(aspect).away;
  // What stands on the stage besides the robot, which keeps clear of it: on a phone charts above and switches below, sliders anywhere.
  const narrow = matchMedia("(max-width: 48rem)"), box = (name) => $(name).getBoundingClientRect();
  let cover = [0, 0, 0, 0];
  function arrange() {
    const open = !$(".joints").hidden, { clientWidth: w, clientHeight: h } = canvas;
    cover = narrow.matches ? [box(".charts").bottom, 0, h - box(open ? ".joints" : ".bar").top, 0] : [0, open ? w - box(".joints").left : 0, 0, 0];
  }
  view.cover = () => cover;
  const watch = new ResizeObserver(arrange);
  for (const name of [".stage", ".charts", ".bar", ".joints"]) watch.observe($(name));
  const lens = () => {   // the eye and its axes
    const c = Math.cos(view.elevation), back = [c * Math.cos(view.azimuth), c * Math.sin(view.azimuth), Math.sin(view.elevation)];
    const right = unit(cross([0, 0, 1], back)), away = view.distance * view.away(renderer.free(view).aspect);
    return { eye: camera.map((x, k) => x + away * back[k]), back, right, up: cross(back, right) };
  };
  const ray = (x, y) => {
    const { eye, back, right, up } = lens(), { clientWidth: w, clientHeight: h } = canvas, part = renderer.free(view), t = Math.tan(FIELD / 2) / part.scale;
    const u = (2 * x / w - 1 - part.x) * t * w / h, v = (1 - 2 * y / h - part.y) * t;
    return { eye, back, along: [0, 1, 2].map((k) => u * right[k] + v * up[k] - back[k]) };
  };
  // The point of a ray in the plane through a point, facing the eye.
  const onPlane = ({ eye, back, along }, point) => { const s = dot(sub(point, eye), back) / dot(along, back); return eye.map((x, k) => x + s * along[k]); };
  const inBody = (M, p) => { const d = sub(p, [M[12], M[13], M[14]]); return [0, 1, 2].map((k) => M[4 * k] * d[0] + M[4 * k + 1] * d[1] + M[4 * k + 2] * d[2]); };
  const centreOf = (i, M) => transform(M, data.bodies[i].centre);

  // ---- hands: what is under the finger follows it; let go, it flies ----
  let finger = null;
  const changed = () => { reference = null; idle = 0; };
  canvas.addEventListener("pointerdown", (e) => {
    if (finger) return;
    const poses = physics.poses(), body = renderer.pick(view, poses, camera, e.offsetX, e.offsetY);
    if (body < 0 || !data.bodies[body]) return;
    e.stopImmediatePropagation(); e.preventDefault();
    canvas.setPointerCapture(e.pointerId);
    const at = onPlane(ray(e.offsetX, e.offsetY), centreOf(body, poses[body])), stiffness = physics.mass * 18 ** 2;
    finger = e.pointerId;
    world.track = null;
    world.hand = { body, point: inBody(poses[body], at), target: at, stiffness, damping: 2 * 0.6 * Math.sqrt(stiffness * physics.mass) };
    root.classList.add("holding"); changed();
  });
  canvas.addEventListener("pointermove", (e) => {
    if (e.pointerId !== finger || !world.hand) return;
    e.stopImmediatePropagation();
    world.hand.target = onPlane(ray(e.offsetX, e.offsetY), world.hand.target);
    changed();
  });
  for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) canvas.addEventListener(end, (e) => {
    if (e.pointerId !== finger) return;
    finger = null; world.hand = null; root.classList.remove("holding"); changed();
  });
  orbit(canvas, view, home, [0.25, 4], () => {});

  // ---- switches ----
  const buttons = {};
  const say = (words, seconds = 4) => { message = words; told = performance.now() + 1000 * seconds; };
  function button(name, label, icon, act, pressed) {
    const made = element("button", { type: "button", "data-act": name, ...(pressed === undefined ? {} : { "aria-pressed": pressed }) }, icons(icon), element("span", {}, label));
    made.addEventListener("click", () => { act(); show(); changed(); });
    $(".bar").append(made);
    buttons[name] = made;
  }
  function show() {
    const on = { gravity: world.floor !== null, muscles: world.muscles, friction: world.friction > 0, slow: speed < 1, pause: !running, joints: !$(".joints").hidden };
    for (const [name, made] of Object.entries(buttons)) if (name in on) made.setAttribute("aria-pressed", on[name]);
  }
  function gravity(on) {
    world.gravity = on ? data.gravity : [0, 0, 0];
    world.floor = on ? Math.min(data.scene.bounds[0][2], physics.lowest() - 0.02 * size) : null;
    renderer.shown.ground = on ? world.floor : null;
  }
  function reset() {
    physics.q.set(data.q); physics.nu.fill(0); world.track = null; world.hand = null; physics.state.h = 1 / 240;
    data.joints.forEach((j, k) => { world.targets[k] = j.value; });
    sliders.forEach((s) => s()); energyChart.clear(); momentumChart.clear(); linearChart.clear();
    gravity(world.floor !== null);
  }
  function kick() {
    const poses = physics.poses(), heavy = data.bodies.map((b, i) => [b.mass, i]).filter(([m]) => m > 0), body = heavy[Math.floor(Math.random() * heavy.length)][1];
    const way = unit([Math.random() - 0.5, Math.random() - 0.5, 0.6 * Math.random() + (world.floor !== null ? 0.5 : -0.2)]);
    physics.kick(body, data.bodies[body].centre, way.map((x) => x * physics.mass * 1.1 * Math.sqrt(size)));
    renderer.arrows = []; flash = { body, way, until: performance.now() + 350, poses };
  }
  let flash = null, slowUntilTouch = false;
  // Anywhere in the air, however it lies, at rest.
  function drop(attitude) {
    const roll = attitude ? attitude[0] : (Math.random() < 0.5 ? -1 : 1) * (1.2 + Math.random() * 1.9), pitch = attitude ? attitude[1] : (Math.random() - 0.5) * 0.7, yaw = 2 * Math.PI * Math.random();
    reset();
    const [cr, sr, cp, sp, cy, sy] = [roll, pitch, yaw].flatMap((a) => [Math.cos(a / 2), Math.sin(a / 2)]);
    physics.q.set([sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy, cr * cp * sy - sr * sp * cy, cr * cp * cy + sr * sp * sy], 3);
    world.muscles = true; world.friction = 1;
    gravity(true);
    physics.q[2] += data.scene.bounds[0][2] + 1.3 - physics.lowest();
    world.floor = data.scene.bounds[0][2]; renderer.shown.ground = world.floor;
    camera = null;
    right();
    if (speed === 1) { speed = 0.2; slowUntilTouch = true; }
  }
  function right() {
    if (!righting) return;
    const g = Math.abs(data.gravity[2]), c = physics.centre(), stand = c[2] - physics.lowest(), v = physics.momentum()[2] / physics.mass;
    const fall = world.floor === null ? 1 : (v + Math.sqrt(Math.max(0, v * v + 2 * g * Math.max(0, c[2] - world.floor - Math.min(stand, 0.3 * size))))) / g;
    if (world.floor !== null && fall < 0.2) { say("too low to turn: throw it up, or drop it"); return; }
    const left = righting.begin(Math.max(0.3, Math.min(1.2, 0.93 * fall))) * 180 / Math.PI;
    world.muscles = true;
    data.joints.forEach((_, k) => { world.targets[k] = 0; });
    sliders.forEach((s) => s());
    say(left < 3 ? "found a way to turn: watch the momentum stay" : `it will be ${left.toFixed(0)}° off`);
  }
  if (righting) { button("drop", "drop it", "drop", () => drop()); button("right", "right itself", "right", right); }
  let chosen = false;   // has friction been switched by hand? Until then it comes and goes with the floor.
  button("gravity", "gravity", "gravity", () => { gravity(world.floor === null); if (!chosen) world.friction = world.floor === null ? 0 : 1; }, "false");
  button("kick", "kick", "kick", kick);
  if (data.joints.length) {
    button("muscles", "muscles", "muscles", () => { world.muscles = !world.muscles; world.track = null; }, "true");
    button("joints", "joints", "joints", () => { $(".joints").hidden = !$(".joints").hidden; }, "false");
  }
  button("friction", "friction", "friction", () => { chosen = true; world.friction = world.friction ? 0 : 1; }, "false");
  button("slow", "slow motion", "slow", () => { slowUntilTouch = false; speed = speed < 1 ? 1 : 0.1; }, "false");
  button("pause", "pause", "pause", () => { running = !running; }, "false");
  button("reset", "start again", "reset", reset);

  // ---- sliders: where the muscles pull ----
  const sliders = data.joints.map((j, k) => {
    const input = element("input", { type: "range", min: j.low, max: j.high, step: "any", value: j.value, "aria-label": j.name, "data-joint": k }), value = element("output", {});
    const follow = () => { input.value = world.targets[k]; value.textContent = world.targets[k].toFixed(digits(j)); };
    input.addEventListener("input", () => { world.targets[k] = Number(input.value); world.muscles = true; world.track = null; follow(); show(); changed(); });
    $(".joints").append(element("label", { class: "joint" }, element("span", {}, j.name), input, value));
    follow();
    return follow;
  });
  $(".joints").hidden = true;
  $(".bar").style.setProperty("--columns", Math.ceil(Object.keys(buttons).length / 2));

  // ---- charts ----
  const energyChart = Chart($(".energy canvas"), ["--c2", "--c4", "--c1"]), axes = ["--c5", "--c4", "--c1"];
  const momentumChart = Chart($(".momentum canvas"), axes), linearChart = Chart($(".linear canvas"), axes);
  const small = (x) => (Math.abs(x) < 1e-16 ? "the last digit" : Math.abs(x) >= 0.1 ? x.toPrecision(2) : x.toExponential(0).replace("e-", "·10⁻").replace(/⁻(\d+)/, (_, d) => "⁻" + [...d].map((c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]).join("")));
  const free = () => !world.hand && !world.muscles && !world.friction && !world.track, untouched = () => !world.hand && world.floor === null;
  function measure() {
    const energy = physics.energy(), h = physics.momentum(), spin = Math.hypot(h[3], h[4], h[5]);
    energyChart.add(physics.state.time, [energy.kinetic, energy.potential + energy.springs, energy.total]);
    momentumChart.add(physics.state.time, [h[3], h[4], h[5]]); linearChart.add(physics.state.time, [h[0], h[1], h[2]]);
    if (!reference) reference = { energy: energy.total, scale: Math.max(energy.kinetic, 1e-3), h, time: physics.state.time };
    const dE = Math.abs(energy.total - reference.energy) / reference.scale, [dP, dL] = [0, 3].map((first) => Math.hypot(...[0, 1, 2].map((k) => h[first + k] - reference.h[first + k])));
    $(".energy b").textContent = `${energy.total.toFixed(2)} J`; $(".momentum b").textContent = `${spin.toFixed(3)} kg m²/s`; $(".linear b").textContent = `${Math.hypot(h[0], h[1], h[2]).toFixed(3)} kg m/s`;
    $(".energy small").textContent = free() ? `kept to ${small(dE)}` : world.hand ? "your hand works" : world.track ? "the turn takes work" : world.muscles ? "muscles work" : "friction takes it";
    // What changes the momentum from outside; about the centre of mass, weight does not turn.
    const touched = world.floor !== null && physics.lowest() < world.floor + 1e-3, held = !data.floating && "the world holds it", weight = world.floor !== null && "gravity pulls it";
    $(".momentum small").textContent = world.hand ? "your hand turns it" : held || (touched ? "the floor turns it" : `kept to ${small(dL)}`);
    $(".linear small").textContent = world.hand ? "your hand moves it" : held || (touched ? "the floor pushes it" : weight || `kept to ${small(dP)}`);
    root.dataset.energy = energy.total; root.dataset.spin = spin;
    return { energy, h, dE, dL };
  }
  renderer.arrows = [];
  function arrows(h, poses, centre) {
    const list = [], most = 0.55 * size, spin = h.slice(3), length = Math.hypot(...spin), unitLength = physics.mass * (0.2 * size) ** 2 * 3;
    if (length > 1e-4 * unitLength) list.push({ from: centre, along: spin.map((x) => x / length * most * Math.min(1, length / unitLength + 0.1)), colour: 0 });
    if (world.hand) { const at = transform(poses[world.hand.body], world.hand.point); list.push({ from: at, along: sub(world.hand.target, at), colour: 1 }); }
    if (flash && performance.now() < flash.until) { const at = centreOf(flash.body, poses[flash.body]); list.push({ from: at.map((x, k) => x - 0.3 * size * flash.way[k]), along: flash.way.map((x) => 0.3 * size * x), colour: 1 }); }
    renderer.arrows = list;
  }

  // ---- the loop ----
  let before = 0, frames = 0;
  function frame(now) {
    const seconds = Math.min(0.05, (now - before) / 1000);
    before = now;
    try {
      if (running && seconds > 0) physics.advance(speed * seconds, performance.now() + 30);
    } catch (error) { say("that was too much: it starts again"); reset(); }
    if (world.track && physics.state.time >= world.until) { world.track = null; changed(); if (righting && world.floor === null && righting.tilt() > 0.12) right(); }
    if (slowUntilTouch && world.floor !== null && physics.lowest() < world.floor) { slowUntilTouch = false; speed = 1; show(); }
    const poses = physics.poses(), centre = physics.centre();
    const wanted = world.floor === null ? centre : [centre[0], centre[1], Math.max(centre[2], world.floor + 0.3 * size)];
    camera = camera ? near(camera, wanted, world.hand ? 0.02 : Math.min(1, 6 * Math.max(seconds, 1 / 120))) : wanted;
    if (frames++ % 2 === 0) { const { h } = measure(); arrows(h, poses, centre); energyChart.draw(); momentumChart.draw(); linearChart.draw(); }
    renderer.draw(view, poses, camera);
    $(".said").textContent = performance.now() < told ? message : "";
    root.dataset.play = "ready"; root.dataset.time = physics.state.time.toFixed(3);
    if (!document.hidden) requestAnimationFrame(frame); else setTimeout(() => requestAnimationFrame(frame), 200);
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => renderer.recolour());
  const start = new URLSearchParams(location.hash.slice(1));
  gravity(start.has("gravity"));
  if (start.has("slow")) speed = 0.1;
  if (start.has("drop") && righting) drop([Math.PI, 0]);
  else if (data.floating) { physics.nu.set([0, 0, 0, 0.25, 0.12, 0.35], 0); }
  show();
  say(matchMedia("(pointer: fine)").matches ? "grab it and throw it" : "touch it and throw it", 6);
  window.play = { physics, righting, view, drop, right, kick, measure, reset, gravity, lens, renderer, camera: () => camera };
  requestAnimationFrame(frame);
}
const PATHS = {
  drop: "M8 1v9M4 6.5 8 10.5 12 6.5M2 14h12", right: "M3 9a5 5 0 1 1 2 4M5 16l0-3 3 0", gravity: "M8 2v8M5 7l3 3 3-3M2 13.5h12", kick: "M2 8h7M6 4l4 4-4 4M13 3v10",
  muscles: "M2 11c3-6 5-6 6-3 1 3 3 3 6-3", joints: "M2 4h12M2 8h12M2 12h12M5 2.5v3M11 6.5v3M7 10.5v3", friction: "M2 13h12M4 13l2-4h4l2 4M3 5h3M8 3h4", slow: "M8 2a6 6 0 1 0 .01 0M8 4.5V8l2.5 1.5",
  pause: "M5 3v10M11 3v10", reset: "M13 8a5 5 0 1 1-1.6-3.7M13 2v3h-3",
};
function icons(name) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "svg"), p = document.createElementNS("http://www.w3.org/2000/svg", "path");
  made.setAttribute("viewBox", "0 0 16 16"); p.setAttribute("d", PATHS[name]); made.append(p);
  return made;
}
play(document.querySelector(".play"));
