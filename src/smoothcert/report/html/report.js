"use strict";
// Text from logs reaches the page as textContent only: a name cannot become markup.
const DATA = JSON.parse(document.getElementById("data").textContent);
const LOGS = new Map(DATA.logs.map((log) => [log.number, log]));
const hidden = new Set();
const SVG = "http://www.w3.org/2000/svg";
const PAGE = 50;

function make(name, attributes = {}, ...children) {
  const element = name === "line" ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
const look = (number) => `log${(number - 1) % 7} dash${Math.floor((number - 1) / 7) % 4}`;
const percent = (share) => (100 * share).toFixed(1);
// Towards zero: a radius must not grow by being shown.
const radiusText = (r) => (Math.floor(r * 1000 + 1e-9) / 1000).toFixed(3);
const votesText = (log) => (log.n === null ? "n and α not stated" : `n = ${log.n.toLocaleString("en")}, α = ${log.alpha}`);

// The charts are drawn already: this reads them. series: [{number, x: [], y: []}]; stairs has one x more than y.
function readable(figure, series, options) {
  const svg = figure.querySelector("svg"), readout = figure.querySelector(".readout");
  const { left, right, low, high } = Object.fromEntries(Object.entries(svg.dataset).map(([k, v]) => [k, Number(v)]));
  const cursor = make("line", { class: "cursor", y1: 0, y2: 215, visibility: "hidden" });
  svg.append(cursor);
  let at = null;
  const seen = () => series.filter((s) => !hidden.has(s.number));
  const longest = () => seen().reduce((a, b) => (a && a.y.length >= b.y.length ? a : b), null);
  function read(i) {
    const s = longest();
    cursor.setAttribute("visibility", s ? "visible" : "hidden");
    if (!s) return readout.replaceChildren();
    at = Math.max(0, Math.min(s.y.length - 1, i));
    const x = s.stairs ? (s.x[at] + s.x[at + 1]) / 2 : s.x[at];
    for (const k of ["x1", "x2"]) cursor.setAttribute(k, left + ((x - low) / (high - low || 1)) * (right - left));
    const lines = seen().filter((v) => at < v.y.length).map((v) => {
      const log = LOGS.get(v.number);
      const line = make("li", { class: look(v.number) }, make("b", {}, log.name), ` ${options.read(v, at)} (${votesText(log)})`);
      if (log.mark) line.append(" ", make("span", { class: "mark" }, log.mark));
      return line;
    });
    readout.replaceChildren(make("li", {}, options.xText(s, at)), ...lines);
  }
  svg.addEventListener("pointermove", (event) => {
    const frame = svg.getBoundingClientRect(), s = longest();
    if (!s) return;
    const place = ((event.clientX - frame.left) * svg.viewBox.baseVal.width) / frame.width;
    const x = low + ((place - left) / (right - left)) * (high - low);
    let best = 0;
    for (let i = 0; i < s.y.length; i++) if (s.stairs ? s.x[i] <= x : Math.abs(s.x[i] - x) < Math.abs(s.x[best] - x)) best = i;
    read(best);
  });
  svg.addEventListener("keydown", (event) => {
    const big = event.shiftKey ? 10 : 1;
    const moves = { ArrowLeft: (at ?? 0) - big, ArrowRight: (at ?? -1) + big, Home: 0, End: Infinity };
    if (!(event.key in moves)) return;
    event.preventDefault();
    read(moves[event.key]);
  });
  return () => { if (at !== null) read(at); };
}

const readAgain = [];
for (const figure of document.querySelectorAll('[data-chart="curves"]')) {
  const series = DATA.panels[Number(figure.dataset.panel)].logs.map((number) => {
    const log = LOGS.get(number);
    return { number, x: log.accuracy.map((_, i) => i * log.step), y: log.accuracy, low: log.low, high: log.high };
  });
  readAgain.push(readable(figure, series, {
    xText: (s, i) => `at radius ${s.x[i].toFixed(3)}`,
    read: (s, i) => `${percent(s.y[i])} % [${percent(s.low[i])}, ${percent(s.high[i])}]`,
  }));
}
const nines = document.querySelector('[data-chart="p-a"]');
if (nines) {
  const p = (edge) => Number((1 - 10 ** -edge).toFixed(6));
  const series = DATA.logs.filter((log) => log.pA)
    .map((log) => ({ number: log.number, stairs: true, x: log.edges, y: log.pA.correct, wrong: log.pA.wrong }));
  readAgain.push(readable(nines, series, {
    xText: (s, i) => `p_A between ${p(s.x[i])} and ${p(s.x[i + 1])}`,
    read: (s, i) => `${percent(s.y[i])} % correct, ${percent(s.wrong[i])} % wrong`,
  }));
}
for (const figure of document.querySelectorAll('[data-chart="training"]')) {
  const series = DATA.logs.filter((log) => log.training && figure.dataset.metric in log.training.values)
    .map((log) => ({ number: log.number, x: log.training.epoch, y: log.training.values[figure.dataset.metric] }));
  readAgain.push(readable(figure, series, { xText: (s, i) => `epoch ${s.x[i]}`, read: (s, i) => String(s.y[i]) }));
}

for (const box of document.querySelectorAll("[data-toggle]")) {
  box.addEventListener("change", () => {
    const number = Number(box.dataset.toggle);
    if (box.checked) hidden.delete(number); else hidden.add(number);
    for (const other of document.querySelectorAll(`[data-toggle="${number}"]`)) other.checked = box.checked;
    for (const part of document.querySelectorAll(`.series[data-log="${number}"]`)) part.toggleAttribute("hidden", !box.checked);
    for (const read of readAgain) read();
  });
}

function described(log, i) {
  const votes = log.rows.votes && log.rows.votes[i];
  if (!votes) return "votes not in the log";
  const all = votes[votes.length - 1][1];
  return votes.slice(0, -1).map(([label, count]) => `class ${label}: ${count.toLocaleString("en")}`).join(", ") + ` of ${all.toLocaleString("en")}`;
}

const galleryLog = document.getElementById("gallery-log"), galleryOrder = document.getElementById("gallery-order");
function showGallery() {
  const log = LOGS.get(Number(galleryLog.value)), rows = log.rows;
  const chosen = log.gallery[galleryOrder.value];
  const items = chosen.map((i) => {
    const said = rows.predict[i] === -1 ? "abstained" : `class ${rows.predict[i]}`;
    const uri = DATA.pictures[`${log.number}/${rows.index[i]}`];
    const picture = uri
      ? make("img", { src: uri, alt: `test image ${rows.index[i]}, label ${rows.label[i]}` })
      : make("div", { class: "blank" }, `image ${rows.index[i]}`);
    const link = make("a", { href: `#log-${log.number}-line-${rows.line[i]}` }, `radius ${radiusText(rows.radius[i])}`);
    return make("li", { "data-radius": rows.radius[i], "data-kind": galleryOrder.value }, picture, link, make("br"),
      `said ${said}, is class ${rows.label[i]}`, make("br"), described(log, i));
  });
  document.getElementById("gallery-list").replaceChildren(...items);
  document.getElementById("gallery-note").textContent =
    `${items.length ? `${items.length} images` : "No such image"}; ${votesText(log)}${log.mark ? `; ${log.mark}` : ""}.`;
}
galleryLog.addEventListener("change", showGallery);
galleryOrder.addEventListener("change", showGallery);
showGallery();

const views = new Map();
for (const section of document.querySelectorAll("details.log")) {
  const log = LOGS.get(Number(section.dataset.log)), rows = log.rows;
  const filter = section.querySelector(".filter"), least = section.querySelector(".least");
  const view = { section, filter, least, page: 0, found: null };
  view.show = () => {
    const r = Number(least.value) || 0;
    least.disabled = filter.value !== "counted";
    const tests = {
      all: () => true,
      counted: (i) => rows.correct[i] && rows.predict[i] !== -1 && rows.radius[i] >= r - 1e-6,
      wrong: (i) => !rows.correct[i] && rows.predict[i] !== -1,
      abstained: (i) => rows.predict[i] === -1,
    };
    const chosen = rows.line.map((_, i) => i).filter(tests[filter.value]);
    if (view.found !== null) view.page = Math.max(0, Math.floor(chosen.findIndex((i) => rows.line[i] === view.found) / PAGE));
    const pages = Math.max(1, Math.ceil(chosen.length / PAGE));
    view.page = Math.max(0, Math.min(pages - 1, view.page));
    const body = chosen.slice(view.page * PAGE, (view.page + 1) * PAGE).map((i) => {
      const row = make("tr", { id: `log-${log.number}-line-${rows.line[i]}` }, make("th", { scope: "row" }, String(rows.line[i])));
      const said = rows.predict[i] === -1 ? "abstained" : rows.predict[i];
      for (const cell of [rows.index[i], rows.label[i], said, radiusText(rows.radius[i]), rows.correct[i] ? "yes" : "no", described(log, i)]) row.append(make("td", {}, String(cell)));
      if (rows.line[i] === view.found) row.className = "found";
      return row;
    });
    section.querySelector("tbody").replaceChildren(...body);
    section.querySelector(".where").textContent = `${chosen.length.toLocaleString("en")} rows, page ${view.page + 1} of ${pages}`;
  };
  const change = (page) => { view.page = page; view.found = null; view.show(); };
  filter.addEventListener("change", () => change(0));
  least.addEventListener("input", () => change(0));
  section.querySelector(".back").addEventListener("click", () => change(view.page - 1));
  section.querySelector(".on").addEventListener("click", () => change(view.page + 1));
  section.addEventListener("toggle", () => { if (section.open) view.show(); });
  views.set(log.number, view);
}

// #log-2, #log-2-line-17, #log-2-r-0.5, #log-2-wrong, #log-2-abstained: where every number links to.
function follow() {
  const match = /^#log-(\d+)(?:-line-(\d+)|-r-([\d.]+)|-(wrong|abstained))?$/.exec(location.hash);
  const view = match && views.get(Number(match[1]));
  if (!view) return;
  view.found = match[2] ? Number(match[2]) : null;
  view.page = 0;
  view.filter.value = match[4] ?? (match[3] ? "counted" : "all");
  if (match[3]) view.least.value = match[3];
  view.section.open = true;
  view.show();
  (view.section.querySelector("tr.found") ?? view.section).scrollIntoView({ block: match[2] ? "center" : "start" });
}
addEventListener("hashchange", follow);
// The same link again must lead there again.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.('a[href^="#log-"]');
  if (link && link.getAttribute("href") === location.hash) follow();
});
follow();

document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});
