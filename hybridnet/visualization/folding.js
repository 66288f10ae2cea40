// Draws the links between the boxes that are seen, searches, and tells all of a layer.

const root = find("network"), svg = root.querySelector("svg"), told = find("told");
const boxes = [...root.querySelectorAll(".layer")];
const {links, layers} = JSON.parse(find("data").textContent);
let chosen = null, heat = null;         // boxes: the one that is told, the one that is pointed at
let size = 13;

function seen(box) {                    // the outermost folded scope around it, or itself
  let found = box;
  for (let up = box.parentElement; up !== root; up = up.parentElement)
    if (up.tagName === "DETAILS" && !up.open) found = up;
  return found;
}

function draw() {
  const origin = root.getBoundingClientRect(), drawn = new Set();
  const shown = new Map(boxes.map(box => [box, seen(box)]));
  const order = [...new Set(shown.values())];
  const place = new Map(order.map((box, at) => [box, at]));
  let paths = "";
  for (const [from, to] of links) {
    const a = shown.get(boxes[from]), b = shown.get(boxes[to]);
    const key = place.get(a) + ">" + place.get(b);
    if (a === b || drawn.has(key)) continue;
    drawn.add(key);
    const s = a.getBoundingClientRect(), t = b.getBoundingClientRect();
    const far = place.get(b) - place.get(a);
    if (far === 1) {
      const x = Math.max(s.left, t.left) + 40 - origin.left;
      paths += `<path data-key="${key}" d="M${x} ${s.bottom - origin.top}V${t.top - origin.top}"` +
        ` marker-end="url(#arrow)"/>`;
    } else {
      const y1 = s.top + s.height / 2 - origin.top, y2 = t.top + t.height / 2 - origin.top;
      const x1 = s.right - origin.left, x2 = t.right - origin.left;
      const ends = [place.get(a), place.get(b)];
      const passed = order.slice(Math.min(...ends), 1 + Math.max(...ends));
      const right = Math.max(...passed.map(box => box.getBoundingClientRect().right));
      const lane = right - origin.left + Math.min(12 + 6 * Math.abs(far), 120);
      const turn = y1 < y2 ? 8 : -8;
      paths += `<path data-key="${key}" d="M${x1} ${y1}H${lane - 8}` +
        `Q${lane} ${y1} ${lane} ${y1 + turn}V${y2 - turn}Q${lane} ${y2} ${lane - 8} ${y2}H${x2}" marker-end="url(#arrow)"/>`;
    }
  }
  svg.setAttribute("width", origin.width);
  svg.setAttribute("height", origin.height);
  svg.querySelector("g").innerHTML = paths;
  const hot = heat || (chosen && seen(chosen));
  const at = String(order.indexOf(hot));
  svg.querySelectorAll("path[data-key]").forEach(
    path => path.classList.toggle("hot", path.dataset.key.split(">").includes(at)));
}

function tell(box) {                    // in the pane
  if (chosen) chosen.classList.remove("chosen");
  chosen = box;
  box.classList.add("chosen");
  const number = Number(box.dataset.layer), one = layers[number];
  told.replaceChildren(document.createElement("b"), document.createElement("dl"));
  told.firstChild.textContent = one.name;
  const list = told.lastChild;
  Object.entries(one.facts).forEach(([key, value]) => entry(list, key, value));
  const names = (at, other) => [...new Set(links.filter(link => link[at] === number)
    .map(link => layers[link[other]].name))].join(", ");
  entry(list, "takes", names(1, 0) || "no layer");
  entry(list, "goes to", names(0, 1) || "no layer");
  draw();
}

function show(box) {                    // opens what is around it
  for (let up = box.parentElement; up !== root; up = up.parentElement)
    if (up.tagName === "DETAILS") up.open = true;
  tell(box);
  box.scrollIntoView({block: "center"});
}

boxes.forEach((box, at) => pressable(box, `layer ${at}`, () => tell(box)));
const pointed = [...boxes, ...root.querySelectorAll("details")];
pointed.forEach(box => {
  const warm = () => { heat = box.tagName === "DETAILS" && box.open ? null : seen(box); draw(); };
  box.addEventListener("mouseenter", warm);
  box.addEventListener("mouseleave", () => { heat = null; draw(); });
});
root.querySelectorAll("details").forEach(one => one.addEventListener("toggle", draw));

let found = [], place = -1;
find("search").oninput = event => {
  const wanted = event.target.value.trim().toLowerCase();
  const fits = box => {
    const one = layers[box.dataset.layer];
    return (one.name + " " + one.facts.operator).toLowerCase().includes(wanted);
  };
  found = wanted ? boxes.filter(fits) : [];
  place = -1;
  boxes.forEach(box => box.classList.toggle("missed", Boolean(wanted) && !found.includes(box)));
  find("count").textContent =
    wanted ? `${found.length} found` + (found.length ? ": Enter shows them" : "") : "";
};
find("search").onkeydown = event => {
  if (event.key !== "Enter" || !found.length) return;
  place = (place + (event.shiftKey ? found.length - 1 : 1)) % found.length;
  show(found[place]);
  find("count").textContent = `${place + 1} of ${found.length}`;
};

const openAll = open => root.querySelectorAll("details").forEach(one => one.open = open);
find("open").onclick = () => openAll(true);
find("fold").onclick = () => openAll(false);
function scale(by) {
  size = Math.min(Math.max(size * by, 5), 30);
  root.style.fontSize = size + "px";
  draw();
}
find("larger").onclick = () => scale(1.25);
find("smaller").onclick = () => scale(0.8);
addEventListener("resize", draw);
draw();
