// Draws the plan of a network's memory by one strategy, and tells all of a result.

const svg = find("plan"), told = find("told");
const {plans, colors} = JSON.parse(find("data").textContent);
const HIGH = 300, LEFT = 70, BELOW = 24;
let strategy = "both", chosen = null;   // a result, by its number

function bytes(n) {
  for (const [unit, scale] of [["GiB", 30], ["MiB", 20], ["KiB", 10]])
    if (n >= 2 ** scale) return (n / 2 ** scale).toFixed(2) + " " + unit;
  return n + " B";
}

function made(name, facts, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in facts) element.setAttribute(key, facts[key]);
  if (text !== undefined) element.textContent = text;
  return svg.appendChild(element);
}

function tell(number) {                 // of a result; null: of none
  const results = plans[strategy].results;
  told.replaceChildren();
  if (number === null) {
    told.textContent = "Point at a result, or choose one by a click or with the arrow keys.";
    return;
  }
  const one = results[number];
  told.appendChild(document.createElement("b")).textContent = one.name;
  const list = told.appendChild(document.createElement("dl"));
  entry(list, "operator", one.operator);
  if (one.line) entry(list, "line", one.line);
  entry(list, "result", `${one.type}, ${bytes(one.size)}`);
  entry(list, "lies", `at ${bytes(one.place)} to ${bytes(one.place + one.size)}`);
  entry(list, "lives", `from node ${one.from} to node ${one.to}`);
}

function choose(number) {
  chosen = number;
  svg.querySelectorAll(".chosen").forEach(one => one.classList.remove("chosen"));
  const box = number === null ? null : svg.querySelector(`[data-result="${number}"]`);
  if (box) { box.classList.add("chosen"); svg.appendChild(box); }
  tell(number);
}

function draw() {
  const plan = plans[strategy], wide = Math.max(280, svg.parentElement.clientWidth - LEFT - 10);
  const x = node => LEFT + node * wide / Math.max(plan.nodes, 1);
  // All strategies by one scale, so that they can be compared.
  const most = Math.max(1, ...Object.values(plans).map(one => one.size));
  const y = place => HIGH * (1 - place / most) + 6;
  svg.replaceChildren();
  svg.setAttribute("width", LEFT + wide + 10);
  svg.setAttribute("height", HIGH + BELOW + 6);
  for (let part = 0; part <= 4; part++) {
    const at = y(part * most / 4);
    made("line", {class: "axis", x1: LEFT - 4, x2: LEFT, y1: at, y2: at});
    made("text", {x: LEFT - 8, y: at + 4, "text-anchor": "end"}, bytes(Math.round(part * most / 4)));
  }
  made("line", {class: "axis", x1: LEFT, x2: LEFT, y1: y(most), y2: y(0)});
  made("line", {class: "axis", x1: LEFT, x2: LEFT + wide, y1: y(0), y2: y(0)});
  made("text", {x: LEFT, y: HIGH + BELOW}, "node 0");
  made("text", {x: LEFT + wide, y: HIGH + BELOW, "text-anchor": "end"}, `node ${plan.nodes - 1}`);
  plan.results.forEach((one, number) => {
    const box = made("rect", {class: "result", "data-result": number, x: x(one.from),
      width: Math.max(1, x(one.to + 1) - x(one.from)), y: y(one.place + one.size),
      height: Math.max(1, y(one.place) - y(one.place + one.size)), fill: colors[one.family]});
    box.onmouseenter = () => tell(number);
    box.onmouseleave = () => tell(chosen);
    box.onclick = () => choose(number);
  });
  find("size").textContent = `${bytes(plan.size)} for ${plan.results.length} results`;
  document.querySelectorAll("[data-strategy]").forEach(button =>
    button.setAttribute("aria-pressed", button.dataset.strategy === strategy));
  choose(chosen);
}

svg.onkeydown = event => {
  const steps = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1};
  if (event.key === "Escape") return choose(null);
  if (!(event.key in steps)) return;
  event.preventDefault();
  const count = plans[strategy].results.length, by = steps[event.key];
  if (count) choose(chosen === null ? 0 : (chosen + by + count) % count);
};
document.querySelectorAll("[data-strategy]").forEach(button => button.onclick = () => {
  strategy = button.dataset.strategy;
  chosen = null;
  draw();
});
new ResizeObserver(draw).observe(svg.parentElement);
draw();
