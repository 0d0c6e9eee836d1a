"use strict";
// Text from logs reaches the page as textContent only: a name cannot become markup.
const DATA = JSON.parse(document.getElementById("data").textContent);
const LOGS = new Map(DATA.logs.map((log) => [log.number, log]));
const hidden = new Set();
const SVG = "http://www.w3.org/2000/svg";
const PAGE = 50;

function make(name, attributes = {}, ...children) {
  const svg = ["svg", "g", "path", "line", "text", "rect"].includes(name);
  const element = svg ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
const look = (number) => `log${(number - 1) % 7} dash${Math.floor((number - 1) / 7) % 4}`;
const percent = (share) => (100 * share).toFixed(1);
// Towards zero: a radius must not grow by being shown.
const radiusText = (r) => (Math.floor(r * 1000 + 1e-9) / 1000).toFixed(3);
const votesText = (log) => (log.n === null ? "n and α not stated" : `n = ${log.n.toLocaleString("en")}, α = ${log.alpha}`);

function ticks(low, high, count, whole = false) {
  const raw = Math.max((high - low) / count || 1, whole ? 1 : 0);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = (whole ? [1, 2, 5, 10] : [1, 2, 2.5, 5, 10]).map((k) => k * power).find((s) => s >= raw * 0.999);
  const found = [];
  for (let t = Math.ceil(low / step) * step; t <= high + step * 1e-6; t += step) found.push(Number(t.toPrecision(10)));
  return found;
}

// series: [{number, x: [], y: [], low?, high?, stairs?}]; stairs has one x more than y.
function chart(figure, series, options) {
  const plot = figure.querySelector(".plot"), readout = figure.querySelector(".readout");
  let at = null;
  function draw() {
    const width = Math.max(260, plot.clientWidth), height = Math.round(Math.min(380, Math.max(220, width * 0.55)));
    const box = { left: 46, right: width - 12, top: 10, bottom: height - 42 };
    const visible = series.filter((s) => !hidden.has(s.number));
    const xs = series.flatMap((s) => [s.x[0], s.x[s.x.length - 1]]);
    const [x0, x1] = options.x ?? [Math.min(...xs), Math.max(...xs)];
    let [y0, y1] = options.y ?? [Infinity, -Infinity];
    if (!options.y) {
      for (const s of series) for (const v of s.y) { y0 = Math.min(y0, v); y1 = Math.max(y1, v); }
      if (y0 === y1) { y0 -= 0.5; y1 += 0.5; }
    }
    const px = (x) => box.left + ((x - x0) / (x1 - x0 || 1)) * (box.right - box.left);
    const py = (y) => box.bottom - ((y - y0) / (y1 - y0 || 1)) * (box.bottom - box.top);
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: "0", "aria-label": options.label });
    for (const t of ticks(y0, y1, 5)) {
      svg.append(make("line", { class: "axis", x1: box.left, x2: box.right, y1: py(t), y2: py(t) }));
      svg.append(make("text", { x: box.left - 6, y: py(t) + 4, "text-anchor": "end" }, options.yText(t)));
    }
    const marks = options.xTicks ?? ticks(x0, x1, width < 420 ? 4 : 8, options.whole).map((t) => [t, String(t)]);
    for (const [t, text] of marks) {
      if (t < x0 - 1e-9 || t > x1 + 1e-9) continue;
      svg.append(make("line", { class: "axis", x1: px(t), x2: px(t), y1: box.top, y2: box.bottom }));
      svg.append(make("text", { x: px(t), y: box.bottom + 16, "text-anchor": "middle" }, text));
    }
    if (y0 < 0) svg.append(make("line", { class: "zero", x1: box.left, x2: box.right, y1: py(0), y2: py(0) }));
    svg.append(make("text", { x: (box.left + box.right) / 2, y: height - 6, "text-anchor": "middle" }, options.xLabel));
    for (const s of series) {
      const group = make("g", { class: `series ${look(s.number)}`, "data-log": s.number });
      if (hidden.has(s.number)) group.setAttribute("display", "none");
      if (s.low) {
        const up = s.x.map((x, i) => `${px(x).toFixed(1)},${py(s.high[i]).toFixed(1)}`);
        const down = s.x.map((x, i) => `${px(x).toFixed(1)},${py(s.low[i]).toFixed(1)}`).reverse();
        group.append(make("path", { class: "band", d: `M${up.concat(down).join("L")}Z` }));
      }
      const points = s.stairs
        ? s.y.flatMap((y, i) => [[s.x[i], y], [s.x[i + 1], y]])
        : s.y.map((y, i) => [s.x[i], y]);
      const d = points.map(([x, y]) => `${px(x).toFixed(1)},${py(y).toFixed(1)}`).join("L");
      group.append(make("path", { class: "line", d: `M${d}` }));
      svg.append(group);
    }
    const cursor = make("line", { class: "cursor", y1: box.top, y2: box.bottom, visibility: "hidden" });
    svg.append(cursor);
    const longest = Math.max(0, ...visible.map((s) => s.y.length));
    function read(i) {
      at = Math.max(0, Math.min(longest - 1, i));
      const s = visible.find((v) => v.y.length > at);
      if (!s) return;
      const x = s.stairs ? (s.x[at] + s.x[at + 1]) / 2 : s.x[at];
      for (const k of ["x1", "x2"]) cursor.setAttribute(k, px(x));
      cursor.setAttribute("visibility", "visible");
      const lines = [make("li", {}, options.xText(s, at))];
      const shown = new Set();
      for (const v of visible) {
        if (at >= v.y.length || shown.has(v.number)) continue;
        shown.add(v.number);
        const log = LOGS.get(v.number);
        const line = make("li", { class: look(v.number) }, make("b", {}, log.name), ` ${options.read(v, at)} (${votesText(log)})`);
        if (log.mark) line.append(" ", make("span", { class: "mark" }, log.mark));
        lines.push(line);
      }
      readout.replaceChildren(...lines);
    }
    svg.addEventListener("pointermove", (event) => {
      const frame = svg.getBoundingClientRect();
      const x = x0 + (((event.clientX - frame.left) * width) / frame.width - box.left) / (box.right - box.left) * (x1 - x0);
      const s = visible.reduce((a, b) => (a && a.y.length >= b.y.length ? a : b), null);
      if (!s) return;
      let best = 0;
      for (let i = 0; i < s.y.length; i++) if (s.stairs ? s.x[i] <= x : Math.abs(s.x[i] - x) < Math.abs(s.x[best] - x)) best = i;
      read(best);
    });
    svg.addEventListener("keydown", (event) => {
      const big = event.shiftKey ? 10 : 1;
      const moves = { ArrowLeft: (at ?? 0) - big, ArrowRight: (at ?? -1) + big, Home: 0, End: longest - 1 };
      if (!(event.key in moves)) return;
      event.preventDefault();
      read(moves[event.key]);
    });
    const focused = plot.contains(document.activeElement);
    plot.replaceChildren(svg);
    if (focused) svg.focus();
    if (at !== null) read(at);
  }
  draw();
  let drawn = plot.clientWidth;
  new ResizeObserver(() => {
    if (Math.abs(plot.clientWidth - drawn) > 2) { drawn = plot.clientWidth; draw(); }
  }).observe(plot);
  return draw;
}

const redraw = [];
for (const figure of document.querySelectorAll('[data-chart="curves"]')) {
  const panel = DATA.panels[Number(figure.dataset.panel)];
  const series = panel.logs.map((number) => {
    const log = LOGS.get(number);
    return { number, x: log.accuracy.map((_, i) => i * log.step), y: log.accuracy, low: log.low, high: log.high };
  });
  redraw.push(chart(figure, series, {
    y: [0, 1], yText: (t) => `${Math.round(100 * t)}%`, xLabel: "certified radius",
    label: `Certified accuracy against radius, ${panel.title}; the table below has the numbers`,
    xText: (s, i) => `at radius ${s.x[i].toFixed(3)}`,
    read: (s, i) => `${percent(s.y[i])} % [${percent(s.low[i])}, ${percent(s.high[i])}]`,
  }));
}

const nines = document.querySelector('[data-chart="p-a"]');
const known = DATA.logs.filter((log) => log.pA);
if (known.length) {
  const last = Math.max(2, ...known.flatMap((log) => log.pA.correct.map((c, i) => (c + log.pA.wrong[i] > 0 ? i + 1 : 0))));
  const series = known.flatMap((log) => [
    { number: log.number, stairs: true, x: log.edges.slice(0, last + 1), y: log.pA.correct.slice(0, last), wrong: log.pA.wrong },
    { number: log.number, stairs: true, x: log.edges.slice(0, last + 1), y: log.pA.wrong.slice(0, last).map((v) => -v) },
  ]);
  const p = (edge) => Number((1 - 10 ** -edge).toFixed(6));
  redraw.push(chart(nines, series, {
    xLabel: "lower bound on p_A", yText: (t) => `${Number((100 * Math.abs(t)).toPrecision(3))}%`,
    xTicks: [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999].map((v) => [-Math.log10(1 - v), String(v)]),
    label: "Distribution of the lower bound on p_A over images",
    xText: (s, i) => `p_A between ${p(s.x[i])} and ${p(s.x[i + 1])}`,
    read: (s, i) => `${percent(s.y[i])} % correct, ${percent(s.wrong[i])} % wrong`,
  }));
}

const metric = document.getElementById("metric");
if (metric) {
  const trained = DATA.logs.filter((log) => log.training);
  const names = [...new Set(trained.flatMap((log) => Object.keys(log.training.values)))];
  metric.append(...names.map((name) => make("option", { value: name }, name.replaceAll("_", " "))));
  metric.value = names.includes("test_noisy_accuracy") ? "test_noisy_accuracy" : names[0];
  const figure = document.querySelector('[data-chart="training"]');
  const options = {
    xLabel: "epoch", whole: true, yText: (t) => (Math.abs(t) >= 1e5 ? t.toExponential(1) : String(t)), label: "",
    xText: (s, i) => `epoch ${s.x[i]}`, read: (s, i) => String(s.y[i]),
  };
  const series = [];
  const choose = () => {
    const found = trained.filter((log) => metric.value in log.training.values);
    series.splice(0, series.length, ...found.map((log) => ({ number: log.number, x: log.training.epoch, y: log.training.values[metric.value] })));
    options.label = `${metric.value} by epoch`;
  };
  choose();
  const draw = chart(figure, series, options);
  redraw.push(draw);
  metric.addEventListener("change", () => { choose(); draw(); });
}

for (const box of document.querySelectorAll("[data-toggle]")) {
  box.addEventListener("change", () => {
    const number = Number(box.dataset.toggle);
    if (box.checked) hidden.delete(number); else hidden.add(number);
    for (const draw of redraw) draw();
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
      ? make("img", { src: uri, alt: `test image ${rows.index[i]}, label ${rows.label[i]}`, loading: "lazy" })
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
