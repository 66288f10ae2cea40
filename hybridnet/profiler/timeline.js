// Draws what the page's data say: rows of spans, counters and marks over a common time in
// microseconds. `view` is what of it is seen; all changes end in `draw`.

const data = JSON.parse(find("data").textContent);
const ruler = find("ruler"), canvas = find("rows"), said = find("said"), count = find("count");
const LABEL = 17, BAR = 16, COUNTER = 34, RULER = 24, FONT = "11px system-ui, sans-serif";
const view = {from: data.begin, to: data.end};
const hidden = new Set();
let found = null;                       // the spans that a search has found, in order of time
let chosen = null;                      // the span, counter's point or mark that is told

// -- the data, as objects --------------------------------------------------------------------

// A lane is what stands in one line: its spans come by start and do not overlap.
const rows = data.rows.map(row => {
  const lanes = Array.from({length: row.lanes}, () => []);
  row.spans.forEach(([start, duration, lane, kind, name, facts]) => lanes[lane].push({
    start, duration, end: start + duration, kind: data.kinds[kind], name: data.names[name],
    facts: data.facts[facts], row: row.name,
  }));
  return {name: row.name, lanes, height: LABEL + 1 + BAR * row.lanes};
});
const counters = data.counters.map(one => ({...one, height: LABEL + 1 + COUNTER}));
let total = 0;
for (const row of [...counters, ...rows]) { row.top = total; total += row.height + 3; }
const spans = rows.flatMap(row => row.lanes.flat()).sort((a, b) => a.start - b.start);

function first(lane, time) {            // the first span of a lane that ends after a time
  let low = 0, high = lane.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane[middle].end > time) high = middle; else low = middle + 1;
  }
  return low;
}

// -- words -----------------------------------------------------------------------------------

function words(time, step = time) {     // as exact as a step asks for
  const size = Math.abs(time), [unit, scale] =
    size >= 1e6 ? ["s", 1e6] : size >= 1e3 ? ["ms", 1e3] : ["us", 1];
  const digits = Math.max(0, Math.ceil(-Math.log10(Math.abs(step || 1) / scale) - 1e-9));
  return time ? (time / scale).toFixed(Math.min(digits, 9)) + " " + unit : "0";
}

const rounded = time => words(time, 10 ** (Math.floor(Math.log10(Math.abs(time) || 1)) - 2));

function tell(one, beside = 0) {
  chosen = one;
  said.replaceChildren();
  if (!one) { said.textContent = "Choose a bar: by a click, or with the arrow keys."; return; }
  said.appendChild(document.createElement("b")).textContent = one.name;
  const list = said.appendChild(document.createElement("dl"));
  const place = one.duration === undefined ? `at ${rounded(one.start)}`
    : `${rounded(one.duration)} from ${rounded(one.start)}`;
  entry(list, one.kind.what, `${place}${one.row ? ", " + one.row : ""}`);
  Object.entries(one.facts).forEach(([key, value]) => entry(list, key, value));
  if (beside) entry(list, "beside it", `${beside} more in the same pixel: zoom in to see them`);
}

// -- drawing ---------------------------------------------------------------------------------

function sharp(one, width, height) {    // a canvas of so many CSS pixels; returns its pen
  const ratio = window.devicePixelRatio || 1;
  one.width = Math.max(1, Math.round(width * ratio));
  one.height = Math.max(1, Math.round(height * ratio));
  one.style.height = height + "px";
  const pen = one.getContext("2d");
  pen.scale(ratio, ratio);
  pen.font = FONT;
  pen.textBaseline = "middle";
  pen.fillStyle = pen.strokeStyle = getComputedStyle(document.body).color;
  return pen;
}

function fitted(pen, text, room) {      // what of a text has room
  if (pen.measureText(text).width <= room) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (pen.measureText(text.slice(0, middle) + "\u2026").width <= room) low = middle;
    else high = middle - 1;
  }
  return low ? text.slice(0, low) + "\u2026" : "";
}

function drawLane(pen, lane, y, width, scale) {
  const dim = one => found && !found.has(one) ? 0.2 : 1;
  let pixel = -1, covered = 0, longest = null, clear = 0;
  const flush = () => {                 // what is narrower than a pixel is drawn together
    if (!longest) return;
    pen.globalAlpha = Math.max(0.35, Math.min(1, covered)) * clear;
    pen.fillStyle = longest.kind.color;
    pen.fillRect(pixel, y, 1, BAR - 2);
    longest = null;
  };
  for (let i = first(lane, view.from); i < lane.length && lane[i].start < view.to; i++) {
    const one = lane[i];
    if (hidden.has(one.kind)) continue;
    const x = (one.start - view.from) * scale, wide = one.duration * scale;
    if (wide < 1) {
      if (Math.floor(x) !== pixel) { flush(); pixel = Math.floor(x); covered = clear = 0; }
      covered += wide;
      clear = Math.max(clear, dim(one));
      if (!longest || one.duration > longest.duration) longest = one;
      continue;
    }
    const left = Math.max(x, 0), seen = Math.min(x + wide, width) - left;
    pen.globalAlpha = dim(one);
    pen.fillStyle = one.kind.color;
    pen.fillRect(left, y, Math.max(seen - 0.5, 0.5), BAR - 2);
    if (one === chosen) {
      pen.strokeStyle = getComputedStyle(document.body).color;
      pen.lineWidth = 2;
      pen.strokeRect(left + 1, y + 1, Math.max(seen - 2, 1), BAR - 4);
    }
    if (seen > 14) {                    // labels stay where a part of the bar is seen
      pen.fillStyle = one.kind.text;
      pen.fillText(fitted(pen, one.name, seen - 6), left + 3, y + BAR / 2 - 1);
    }
  }
  flush();
  pen.globalAlpha = 1;
}

function drawCounter(pen, one, width, scale) {
  const low = Math.min(0, one.low), high = Math.max(0, one.high), size = high - low || 1;
  const y = value => one.top + LABEL + COUNTER * (1 - (value - low) / size);
  pen.fillStyle = one.kind.color;
  one.points.forEach(([time, value], i) => {
    const next = i + 1 < one.points.length ? one.points[i + 1][0] : data.end;
    if (next < view.from || time > view.to) return;
    const left = Math.max(0, (time - view.from) * scale);
    const right = Math.min(width, (next - view.from) * scale);
    const edge = Math.min(y(value), y(0));
    pen.fillRect(left, edge, Math.max(right - left, 1), Math.max(1, Math.abs(y(value) - y(0))));
  });
}

function drawMarks(pen, height, scale) {
  pen.strokeStyle = getComputedStyle(document.body).color;
  pen.setLineDash([3, 3]);
  pen.lineWidth = 1;
  for (const mark of data.marks) {
    const x = Math.round((mark.start - view.from) * scale) + 0.5;
    pen.beginPath(); pen.moveTo(x, 0); pen.lineTo(x, height); pen.stroke();
  }
  pen.setLineDash([]);
}

function drawRuler(width, scale) {
  const pen = sharp(ruler, width, RULER), wanted = 90 / scale;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = [1, 2, 5, 10].map(n => n * power).find(n => n >= wanted);
  for (let n = Math.ceil(view.from / step); n * step <= view.to; n++) {
    const x = (n * step - view.from) * scale;
    pen.fillRect(x, RULER - 7, 1, 7);
    const text = words(n * step, step), wide = pen.measureText(text).width;
    if (x + 3 + wide < width) pen.fillText(text, x + 3, 9);
  }
  for (const mark of data.marks) {
    const x = (mark.start - view.from) * scale;
    pen.beginPath(); pen.moveTo(x - 4, RULER - 9); pen.lineTo(x + 4, RULER - 9);
    pen.lineTo(x, RULER - 1); pen.fill();
  }
}

function draw() {
  const width = canvas.parentElement.clientWidth, height = Math.max(total, 20);
  const scale = width / (view.to - view.from), pen = sharp(canvas, width, height);
  const ink = pen.fillStyle;
  drawRuler(width, scale);
  for (const one of [...counters, ...rows]) {
    pen.fillStyle = ink;
    pen.fillText(fitted(pen, one.label || one.name, width - 8), 3, one.top + LABEL / 2);
    pen.globalAlpha = 0.3;
    pen.fillRect(0, one.top + one.height + 1, width, 1);
    pen.globalAlpha = 1;
    if (one.points) drawCounter(pen, one, width, scale);
    else one.lanes.forEach((lane, i) => drawLane(pen, lane, one.top + LABEL + BAR * i, width, scale));
  }
  drawMarks(pen, height, scale);
  if (drag && drag.to !== null) {
    pen.globalAlpha = 0.15;
    pen.fillStyle = ink;
    pen.fillRect(Math.min(drag.x, drag.to), 0, Math.abs(drag.to - drag.x), height);
    pen.globalAlpha = 1;
  }
  const part = view.to - view.from < data.end * 0.999;
  find("seen").textContent = part ? `${rounded(view.from)} to ${rounded(view.to)}` : "";
}

// -- moving ----------------------------------------------------------------------------------

function look(from, to) {
  const least = Math.min(0.01, data.end);
  const size = Math.min(Math.max(to - from, least), data.end);
  view.from = Math.min(Math.max(from, 0), data.end - size);
  view.to = view.from + size;
  draw();
}

function zoom(factor, share = 0.5) {    // what is at that share of the width stays there
  const size = view.to - view.from, at = view.from + share * size;
  look(at - share * size / factor, at + (1 - share) * size / factor);
}

const pan = share => look(view.from + share * (view.to - view.from),
                          view.to + share * (view.to - view.from));

function show(one) {                    // brings a span into view, wide enough to be seen
  if (one.end < view.from || one.start > view.to || one.duration / (view.to - view.from) < 0.005) {
    const size = Math.max(Math.min(view.to - view.from, 20 * one.duration), 0.05);
    look(one.start + one.duration / 2 - size / 2, one.start + one.duration / 2 + size / 2);
  }
  tell(one);
  draw();
}

// -- choosing --------------------------------------------------------------------------------

function at(x, y) {                     // what is drawn there, and how many more in its pixel
  const scale = canvas.clientWidth / (view.to - view.from), time = view.from + x / scale;
  const mark = data.marks.find(one => Math.abs(one.start - time) * scale < 4);
  if (mark && y < 0) return [mark, 0];
  const place = [...counters, ...rows].find(one => y >= one.top && y < one.top + one.height);
  if (!place) return [null, 0];
  if (place.points) {
    const before = place.points.filter(([when]) => when <= time).pop();
    return before ? [{name: place.name, kind: place.kind, start: before[0],
                      facts: {value: before[1]}}, 0] : [null, 0];
  }
  const lane = place.lanes[Math.floor((y - place.top - LABEL) / BAR)];
  if (!lane) return [null, 0];
  const near = 1.5 / scale, there = [];
  for (let i = first(lane, time - near); i < lane.length && lane[i].start <= time + near; i++)
    if (!hidden.has(lane[i].kind)) there.push(lane[i]);
  const over = there.find(one => one.start <= time && one.end >= time && one.duration * scale >= 1);
  const best = over || there.reduce((a, b) => !a || b.duration > a.duration ? b : a, null);
  return [best, over || !best ? 0 : there.length - 1];
}

function step(direction, down) {        // to the next span of a lane, or of the one below
  if (!chosen || chosen.end === undefined) {
    const one = spans.find(span => span.end > view.from && !hidden.has(span.kind));
    if (one) show(one);
    return;
  }
  const lanes = rows.flatMap(place => place.lanes);
  let lane = lanes.findIndex(one => one.includes(chosen));
  const shown = one => !hidden.has(one.kind);
  if (!down) {
    const near = lanes[lane].filter(shown), next = near[near.indexOf(chosen) + direction];
    if (next) show(next);
    return;
  }
  for (lane += direction; lane >= 0 && lane < lanes.length; lane += direction) {
    const near = lanes[lane].filter(shown);
    if (!near.length) continue;
    const time = chosen.start + chosen.duration / 2;
    const far = one => Math.max(one.start - time, time - one.end, 0);
    show(near.reduce((a, b) => far(b) < far(a) ? b : a));
    return;
  }
}

let drag = null;
function begin(event, selects) {
  if (event.button) return;
  drag = {x: event.offsetX, from: view.from, moved: false, selects, to: null, on: event.target};
  event.target.setPointerCapture(event.pointerId);
}
function move(event) {
  if (!drag) {
    const [one] = event.target === canvas ? at(event.offsetX, event.offsetY) : [null];
    canvas.title = one ? one.name + (one.duration === undefined ? "" : ", " + rounded(one.duration))
      : "";
    return;
  }
  const by = event.offsetX - drag.x;
  if (Math.abs(by) > 3) drag.moved = true;
  if (!drag.moved) return;
  if (drag.selects) { drag.to = event.offsetX; draw(); return; }
  const scale = canvas.clientWidth / (view.to - view.from), size = view.to - view.from;
  look(drag.from - by / scale, drag.from - by / scale + size);
}
function end(event) {
  if (!drag) return;
  const {x, to, moved, selects, on} = drag, scale = canvas.clientWidth / (view.to - view.from);
  drag = null;
  if (!moved) { tell(...at(event.offsetX, on === ruler ? -1 : event.offsetY)); draw(); return; }
  if (selects) look(view.from + Math.min(x, to) / scale, view.from + Math.max(x, to) / scale);
}
for (const one of [canvas, ruler]) {
  one.addEventListener("pointerdown", event => begin(event, one === ruler || event.shiftKey));
  one.addEventListener("pointermove", move);
  one.addEventListener("pointerup", end);
  one.addEventListener("pointercancel", () => { drag = null; draw(); });
  one.addEventListener("dblclick", () => chosen && chosen.end !== undefined
    ? look(chosen.start - chosen.duration * 0.05, chosen.end + chosen.duration * 0.05)
    : look(0, data.end));
  one.addEventListener("wheel", event => {
    const across = event.shiftKey ? event.deltaY : event.deltaX;
    if (event.ctrlKey || event.metaKey) {
      zoom(event.deltaY < 0 ? 1.25 : 0.8, event.offsetX / canvas.clientWidth);
    } else if (Math.abs(across) > 0 && (event.shiftKey || Math.abs(across) > Math.abs(event.deltaY)))
      pan(across / canvas.clientWidth);
    else return;
    event.preventDefault();
  }, {passive: false});
}

const keys = {
  w: () => zoom(1.5), s: () => zoom(1 / 1.5), a: () => pan(-0.2), d: () => pan(0.2),
  "+": () => zoom(2), "-": () => zoom(0.5), Home: () => look(0, data.end),
  ArrowLeft: () => step(-1, false), ArrowRight: () => step(1, false),
  ArrowUp: () => step(-1, true), ArrowDown: () => step(1, true),
  Enter: () => chosen && chosen.end !== undefined
    && look(chosen.start - chosen.duration * 0.05, chosen.end + chosen.duration * 0.05),
  Escape: () => { tell(null); draw(); },
};
document.addEventListener("keydown", event => {
  const typed = ["INPUT", "BUTTON"].includes(event.target.tagName);
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (event.ctrlKey || event.metaKey || event.altKey || !(key in keys)) return;
  if (event.target.tagName === "INPUT" || (typed && key === "Enter")) return;
  event.preventDefault();
  keys[key]();
});

// -- the line above --------------------------------------------------------------------------

find("in").onclick = () => zoom(2);
find("out").onclick = () => zoom(0.5);
find("all").onclick = () => look(0, data.end);
document.querySelectorAll("[data-kind]").forEach(button => button.onclick = () => {
  const kind = data.kinds[button.dataset.kind], off = !hidden.delete(kind);
  if (off) hidden.add(kind);
  button.setAttribute("aria-pressed", String(!off));
  draw();
});
let place = -1;                         // of the one that was found and shown last
find("search").oninput = event => {
  const wanted = event.target.value.trim().toLowerCase(), has = new Map();
  const holds = one => {                // facts are shared by many spans
    if (!has.has(one.facts))
      has.set(one.facts, JSON.stringify(one.facts).toLowerCase().includes(wanted));
    return one.name.toLowerCase().includes(wanted) || has.get(one.facts);
  };
  found = wanted ? new Set(spans.filter(holds)) : null;
  place = -1;
  count.textContent = found ? `${found.size} found` + (found.size ? ": Enter shows them" : "")
    : data.count;
  draw();
};
find("search").onkeydown = event => {
  if (event.key !== "Enter" || !found || !found.size) return;
  place = (place + (event.shiftKey ? found.size - 1 : 1)) % found.size;
  show([...found][place]);
  count.textContent = `${place + 1} of ${found.size}`;
};

data.marks.forEach(mark => { mark.kind = data.kinds[mark.kind]; mark.facts = data.facts[mark.facts]; });
counters.forEach(one => one.kind = data.kinds[one.kind]);
count.textContent = data.count;
tell(null);
new ResizeObserver(draw).observe(canvas.parentElement);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
new MutationObserver(draw).observe(document.documentElement, {attributes: true});
draw();
