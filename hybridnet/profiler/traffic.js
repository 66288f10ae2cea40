// Adds up the messages of the page's data, as far as they belong to what was clicked on: an arrow,
// a round, a key. All changes end in `draw`.

const data = JSON.parse(find("data").textContent);
const [FROM, TO, KEY, WHAT, ROUND, SENT, BACK, START, TIME] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
const word = data.words, chosen = {};         // chosen.link "0>1", chosen.round, chosen.key
const svgOf = (name, facts, text) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in facts) made.setAttribute(key, facts[key]);
  if (text !== undefined) made.textContent = text;
  return made;
};

function bytes(n) {
  for (const unit of ["B", "kB", "MB"]) {
    if (n < 1000) return +n.toPrecision(3) + " " + unit;
    n /= 1000;
  }
  return +n.toPrecision(3) + " GB";
}

const time = us => us < 1e3 ? us.toFixed(0) + " us"
  : us < 1e6 ? +(us / 1e3).toPrecision(3) + " ms" : +(us / 1e6).toPrecision(3) + " s";

function fill(id, items, lineOf) {            // a table, a line of which can be chosen
  const body = find(id);
  body.replaceChildren(...items.map(lineOf).map(({what, value, cells}) => {
    const line = document.createElement("tr");
    if (chosen[what] === value) line.className = "chosen";
    for (const cell of cells) line.insertCell().textContent = cell;
    const button = document.createElement("button");
    button.textContent = cells[0];
    button.setAttribute("aria-pressed", chosen[what] === value);
    line.cells[0].replaceChildren(
      pressable(button, [id, ...cells.slice(0, 2)].join(" "), () => choose(what, value)));
    return line;
  }));
}

// What an arrow stands for: values sent there, or values that came back with answers.
const links = row => [
  ...(row[SENT] || !row[BACK] ? [[row[FROM] + ">" + row[TO], row[SENT]]] : []),
  ...(row[BACK] ? [[row[TO] + ">" + row[FROM], row[BACK]]] : [])];
const fits = (row, but) =>
  (but === "link" || chosen.link === undefined || links(row).some(l => l[0] === chosen.link)) &&
  (but === "round" || chosen.round === undefined || row[ROUND] === chosen.round) &&
  (but === "key" || chosen.key === undefined || row[KEY] === chosen.key);

function choose(what, value) {
  chosen[what] = chosen[what] === value ? undefined : value;
  draw();
}

// Those that are only sent to, by pushes, are on the right: servers, or where sums are made.
const right = new Set(data.rows.filter(row => word[row[WHAT]] !== "pull" || row[BACK])
  .map(row => row[TO]));
const places = {}, columns = [[], []];
const names = new Set(data.rows.flatMap(row => [row[FROM], row[TO]]));
for (const node of [...names].sort((a, b) => word[a].localeCompare(word[b], "en", {numeric: true})))
  columns[+right.has(node)].push(node);
const high = 64 * Math.max(columns[0].length, columns[1].length, 1);

function drawNet() {
  const wide = Math.max(300, Math.min(640, document.body.clientWidth - 40));
  columns.forEach((nodes, side) => nodes.forEach((node, i) =>
    places[node] = [side ? wide - 110 : 0, high * (i + 0.5) / nodes.length]));
  const net = find("net"), sums = new Map();
  for (const row of data.rows) if (fits(row, "link")) for (const [link, size] of links(row)) {
    const sum = sums.get(link) || [0, 0];
    sums.set(link, [sum[0] + size, sum[1] + 1]);
  }
  net.replaceChildren();
  const heads = net.appendChild(svgOf("defs", {}));
  for (const kind of ["there", "back"]) {
    const head = svgOf("marker", {id: kind, viewBox: "0 0 10 10", refX: 3, refY: 5, orient: "auto",
      markerUnits: "userSpaceOnUse", markerWidth: 18, markerHeight: 18});
    head.append(svgOf("path", {d: "M0 0L10 5L0 10z", class: "head " + kind}));
    heads.append(head);
  }
  fill("links", [...sums].sort((a, b) => b[1][0] - a[1][0]), ([link, [size, count]]) => ({
    what: "link", value: link,
    cells: [...link.split(">").map(at => word[at]), count, bytes(size)]}));
  net.setAttribute("width", wide + 40);
  net.setAttribute("height", high);
  const most = Math.max(1, ...[...sums.values()].map(sum => sum[0]));
  for (const [link, [size, count]] of sums) {
    const [a, b] = link.split(">"), [x1, y1] = places[a], [x2, y2] = places[b];
    const there = right.has(+b), shift = there ? -9 : 9;
    const [xa, xb] = x1 === x2 ? [x1 + 110, x2 + 124] : x1 < x2 ? [110, x2 - 14] : [x1, 124];
    const bend = x1 === x2 ? 90 : (xb - xa) / 2;
    const path = svgOf("path", {
      class: "arrow " + (there ? "there" : "back") +
        (chosen.link !== undefined && chosen.link !== link ? " dim" : ""),
      d: `M${xa},${y1 + shift} C${xa + bend},${y1 + shift} ${x1 === x2 ? xb + bend : xb - bend},` +
        `${y2 + shift} ${xb},${y2 + shift}`,
      "stroke-width": (2 + 10 * Math.sqrt(size / most)).toFixed(1), "data-link": link,
      "marker-end": `url(#${there ? "there" : "back"})`});
    path.append(svgOf("title", {},
      `${word[a]} to ${word[b]}: ${bytes(size)}, ${count} times`));
    net.append(pressable(path, `arrow ${link}`, () => choose("link", link)));
  }
  for (const node in places) {
    const [x, y] = places[node];
    net.append(svgOf("rect", {class: "node", x: x + 1, y: y - 20, width: 108, height: 40, rx: 6}),
      svgOf("text", {x: x + 55, y: y + 4, "text-anchor": "middle"}, word[node]));
  }
}

function drawRounds() {
  // Of the processes the slowest counts: the clocks of several have each a zero of its own.
  const rounds = find("rounds"), own = new Map(), spans = new Map();
  for (const row of data.rows) if (fits(row, "round")) {
    const at = row[ROUND] + ">" + row[FROM], span = own.get(at) || [Infinity, -Infinity];
    own.set(at, [Math.min(span[0], row[START]), Math.max(span[1], row[START] + row[TIME])]);
    const known = spans.get(row[ROUND]) || [0, 0];
    spans.set(row[ROUND], [0, known[1] + row[SENT] + row[BACK]]);
  }
  for (const [at, [first, last]] of own) {
    const known = spans.get(+at.split(">")[0]);
    known[0] = Math.max(known[0], last - first);
  }
  rounds.replaceChildren();
  const each = 14, ordered = [...spans.keys()].sort((a, b) => a - b);
  rounds.setAttribute("width", Math.max(each * ordered.length + 40, 100));
  rounds.setAttribute("height", 84);
  const longest = Math.max(1, ...[...spans.values()].map(span => span[0]));
  ordered.forEach((number, i) => {
    const [took, size] = spans.get(number), tall = 2 + 60 * took / longest;
    const bar = svgOf("rect", {x: i * each, y: 64 - tall, width: each - 3, height: tall,
      class: "round" + (chosen.round !== undefined && chosen.round !== number ? " dim" : ""),
      "data-round": number});
    bar.append(svgOf("title", {}, `round ${number}: ${time(took)}, ${bytes(size)}`));
    rounds.append(pressable(bar, `round ${number}`, () => choose("round", number)));
    if (i % 5 === 0) rounds.append(svgOf("text", {x: i * each, y: 80}, number));
  });
}

function drawKeys() {
  const sums = new Map();
  for (const row of data.rows) if (fits(row, "key")) {
    const name = row[KEY] + ">" + row[WHAT], sum = sums.get(name) || [row, 0, 0, 0, 0, 0];
    sums.set(name, [row, sum[1] + 1, sum[2] + row[SENT], sum[3] + row[BACK], sum[4] + row[TIME],
      Math.max(sum[5], row[TIME])]);
  }
  const ordered = [...sums.values()].sort((a, b) => b[2] + b[3] - a[2] - a[3]);
  fill("keys", ordered, ([row, count, sent, back, took, longest]) => ({
    what: "key", value: row[KEY], cells: [word[row[KEY]], word[row[WHAT]], count, bytes(sent),
      bytes(back), time(took / count), time(longest)]}));
}

function draw() {
  const rows = data.rows.filter(row => fits(row));
  const sum = at => rows.reduce((total, row) => total + row[at], 0);
  const rounds = new Set(rows.map(row => row[ROUND])).size;
  find("sum").textContent =
    `${rows.length.toLocaleString("en")} messages of ${rounds} rounds: ${bytes(sum(SENT))} sent, ` +
    `${bytes(sum(BACK))} answered` +
    (data.leftOut ? `; the ${data.leftOut} oldest are left out` : "") +
    (data.rows.length ? "" : "; a store in one process sends between devices only");
  drawNet();
  drawRounds();
  drawKeys();
}

find("all").onclick = () => {
  for (const what in chosen) delete chosen[what];
  draw();
};
addEventListener("resize", drawNet);

draw();
