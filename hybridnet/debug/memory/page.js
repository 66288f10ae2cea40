// Adds up the arrays of the page's data by line and by name, as far as they belong to what was
// clicked on: a moment, a line, a name. All changes end in `draw`.

const data = JSON.parse(find("data").textContent);
const [LINE, NAME, KIND, ON, BYTES, COUNT] = [0, 1, 2, 3, 4, 5];
const word = data.words, moments = data.moments;
const COLORS = ["#3b74b5", "#d9862b", "#3f8f4f", "#8a63b0", "#c0392b", "#2a8f9f", "#a09a2a"];
const SHOWN = 200;                        // rows of a table
let now = moments.length - 1;             // the snapshot that the tables show
const chosen = {};                        // chosen[LINE], chosen[NAME]: numbers of words
const mib = (n, sign) => (sign && n > 0 ? "+" : "") +
  (n / 2 ** 20).toLocaleString("en", {minimumFractionDigits: 2, maximumFractionDigits: 2});
const fits = (row, but) => [LINE, NAME].every(
  what => what === but || chosen[what] === undefined || row[what] === chosen[what]);
const has = row => word[row[NAME]] !== "";

function sumsOf(rows, what) {             // by the number of a word: bytes, arrays
  const sums = new Map();
  for (const row of rows) {
    const sum = sums.get(row[what]) || [0, 0];
    sums.set(row[what], [sum[0] + row[BYTES], sum[1] + row[COUNT]]);
  }
  return sums;
}

// The lines that take most at any moment have colors of their own.
const most = new Map();
for (const rows of moments) for (const [line, [bytes]] of sumsOf(rows, LINE))
  most.set(line, Math.max(bytes, most.get(line) || 0));
const colored = [...most].sort((a, b) => b[1] - a[1]).slice(0, COLORS.length).map(one => one[0]);
const colorOf = line => COLORS[colored.indexOf(line)] || "#888";

function fill(id, rows) {                 // rows: cells, and what a click chooses, if anything
  const body = find(id);
  body.replaceChildren(...rows.slice(0, SHOWN).map(({cells, what, value, color}) => {
    const line = document.createElement("tr");
    for (const cell of cells) line.insertCell().textContent = cell;
    if (what !== undefined) {
      const is = chosen[what] === value, button = document.createElement("button");
      if (is) line.className = "chosen";
      button.textContent = cells[0];
      button.setAttribute("aria-pressed", is);
      line.cells[0].replaceChildren(pressable(button, `${id} ${value}`, () => {
        chosen[what] = is ? undefined : value;
        draw();
      }));
    }
    if (color) {
      const mark = document.createElement("i");
      mark.style.background = color;
      line.cells[0].prepend(mark);
    }
    return line;
  }));
  if (rows.length > SHOWN)
    body.insertRow().insertCell().textContent = `and ${rows.length - SHOWN} more`;
}

function fillSums(id, what, keep) {
  const rows = moments[now].filter(row => keep(row) && fits(row, what));
  const before = sumsOf(moments[0].filter(row => keep(row) && fits(row, what)), what);
  const sums = [...sumsOf(rows, what)].sort((a, b) => b[1][0] - a[1][0]);
  fill(id, sums.map(([value, [bytes, count]]) => {
    const [old, fewer] = before.get(value) || [0, 0];
    const grown = now ? `${mib(bytes - old, true)} in ${count - fewer}` : "";
    return {what, value, color: what === LINE ? colorOf(value) : "",
      cells: [word[value], mib(bytes), count, grown]};
  }));
}

function svgOf(name, facts, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in facts) made.setAttribute(key, facts[key]);
  if (text !== undefined) made.textContent = text;
  return made;
}

function drawMoments() {                  // a bar for each snapshot, with the lines one on another
  const svg = find("moments"), high = 140;
  const each = Math.max(6, Math.min(60, 900 / moments.length));
  const totalOf = rows => rows.reduce((sum, row) => sum + (fits(row) ? row[BYTES] : 0), 0);
  const totals = moments.map(totalOf);
  const scale = high / Math.max(1, ...totals);
  svg.replaceChildren();
  svg.setAttribute("width", moments.length > 1 ? each * moments.length + 60 : 0);
  svg.setAttribute("height", moments.length > 1 ? high + 20 : 0);
  moments.forEach((rows, number) => {
    const group = svgOf("g", {class: "moment" + (number === now ? "" : " dim"),
      "data-moment": number});
    let top = high;
    const sums = sumsOf(rows.filter(row => fits(row)), LINE), other = [0, 0];
    const parts = colored.filter(line => sums.has(line)).map(line => [line, sums.get(line)[0]]);
    const rest = totals[number] - parts.reduce((sum, part) => sum + part[1], 0);
    for (const [line, bytes] of [...parts, ...(rest > 0 ? [[-1, rest]] : [])]) {
      top -= bytes * scale;
      const bar = svgOf("rect", {x: number * each, y: top, width: each - 2,
        height: bytes * scale, fill: colorOf(line)});
      bar.append(svgOf("title", {}, `${line < 0 ? "other lines" : word[line]}: ${mib(bytes)} MiB`));
      group.append(bar);
    }
    group.append(svgOf("rect", {x: number * each, y: 0, width: each - 2, height: high,
      fill: "transparent"}));
    if (moments.length <= 30 || number % 10 === 0)
      group.append(svgOf("text", {x: number * each, y: high + 14}, number));
    svg.append(pressable(group, `moment ${number}`, () => { now = number; draw(); }));
    group.setAttribute("aria-label", `snapshot ${number}: ${mib(totals[number])} MiB`);
  });
}

function draw() {
  const rows = moments[now].filter(row => fits(row));
  const sum = at => rows.reduce((total, row) => total + row[at], 0);
  find("sum").textContent = `${mib(sum(BYTES))} MiB in ${sum(COUNT)} arrays` +
    (moments.length > 1 ? `, snapshot ${now} of 0 to ${moments.length - 1}` : "");
  drawMoments();
  fillSums("lines", LINE, () => true);
  fillSums("names", NAME, has);
  fill("arrays", rows.map(row => ({cells: [word[row[LINE]], word[row[NAME]], word[row[KIND]],
    word[row[ON]], row[COUNT], mib(row[BYTES])]})));
}

find("all").onclick = () => {
  for (const what in chosen) delete chosen[what];
  draw();
};

draw();
