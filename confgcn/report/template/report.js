"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const ACCEPTED = ["training node", "no: needs review", "yes"];
  const COLOURS = 10;
  const MAX_DRAWN = 24;
  const MAX_DRAWN_NARROW = 10;
  const EDGE = 3;
  const WIDEST_EDGE = 14;
  const NARROW = 520;
  const MAX_SUGGESTED = 8;
  const MAX_LABELS = 12;

  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const size = data.names.length;
  const numClasses = data.classes.length;

  /* Data: columns of integers in base64. */

  function decode(column) {
    if (!column) return null;
    const text = atob(column.data);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    const kind = { 8: Uint8Array, 16: Uint16Array, 32: Uint32Array }[column.bits];
    return new kind(bytes.buffer);
  }

  function decodeQuantised(column) {
    const steps = decode(column);
    return steps && ((i) => column.low + ((column.high - column.low) * steps[i]) / 65535);
  }

  const integers = {};
  for (const name of ["label", "known", "split", "accepted", "degree", "sets", "listed", "neighbours"]) {
    integers[name] = decode(data[name]);
  }
  const quantised = {};
  for (const name of ["probability", "mu", "precision", "own", "influence"]) {
    quantised[name] = decodeQuantised(data[name]);
  }
  const facts = data.facts.map((fact) => ({ ...fact, at: decodeQuantised(fact.values) }));
  const start = new Uint32Array(size + 1);
  for (let i = 0; i < size; i++) start[i + 1] = start[i] + integers.listed[i];
  const searchable = data.names.map((name) => name.toLowerCase());

  const of = (table, node, c) => table(node * numClasses + c);
  const labelOf = (node) => data.classes[integers.label[node]];
  const probabilityOf = (node) => of(quantised.probability, node, integers.label[node]);
  const isTraining = (node) => data.splits[integers.split[node]] === "train";
  const percent = (share) => (100 * share).toFixed(1) + " %";
  const influenceText = (influence) => (data.influence.high <= 1 ? percent(influence) : influence.toPrecision(3));
  const plural = (count, one, many) => count.toLocaleString("en") + " " + (count === 1 ? one : many);

  function code(c) {
    const last = String.fromCharCode(65 + (c % 26));
    return c < 26 ? last : code(Math.floor(c / 26) - 1) + last;
  }

  function setOf(node) {
    const width = Math.ceil(numClasses / 8);
    return data.classes.filter((_, c) => integers.sets[node * width + (c >> 3)] & (1 << (c & 7)));
  }

  function sharesOf(node) {
    const table = quantised.mu || quantised.probability;
    const values = data.classes.map((_, c) => Math.max(0, of(table, node, c)));
    const sum = values.reduce((a, b) => a + b, 0) || 1;
    return values.map((value) => value / sum);
  }

  function neighboursOf(node) {
    const found = [];
    for (let i = start[node]; i < start[node + 1]; i++) {
      found.push({ node: integers.neighbours[i], influence: quantised.influence ? quantised.influence(i) : null });
    }
    return found;
  }

  /* Elements: created one by one; names are only ever text nodes. */

  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children.filter((child) => child !== null));
    return element;
  }
  const html = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
  const svg = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG, name), attributes, children);
  const bdi = (text) => html("bdi", {}, text);
  const link = (node) => html("a", { href: "#node=" + node }, bdi(data.names[node]));
  const chip = (c) => html("span", { class: "chip c" + (c % COLOURS) }, code(c));

  /* The drawing: the selected node in the middle, its neighbours around it. */

  function shorten(text, most) {
    const letters = Array.from(text);
    return letters.length > most ? letters.slice(0, most - 1).join("") + "…" : text;
  }

  function stripes(c) {
    const tile = svg("pattern", { id: "stripes" + c, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
    tile.append(svg("rect", { width: 3, height: 5, style: `fill: var(--c${c})` }));
    return tile;
  }

  function ring(node, radius, width) {
    const around = { r: radius, pathLength: 100, "stroke-width": width, transform: "rotate(-90)" };
    const arcs = [svg("circle", { r: radius, class: "track", "stroke-width": width })];
    let offset = 0;
    sharesOf(node).forEach((share, c) => {
      if (share > 0.004) {
        const dash = { "stroke-dasharray": `${100 * share} ${100 - 100 * share}`, "stroke-dashoffset": -offset };
        const arc = svg("circle", { ...around, ...dash, class: "ring c" + (c % COLOURS) });
        if (c >= COLOURS) arc.style.stroke = `url(#stripes${c % COLOURS})`;
        arcs.push(arc);
      }
      offset += 100 * share;
    });
    return arcs;
  }

  function precisionBar(node, radius) {
    if (!quantised.precision) return [];
    const share = of(quantised.precision, node, integers.label[node]) / (data.precision.high || 1);
    const height = 2 * radius;
    const place = { x: radius + 11, width: 4, rx: 1 };
    return [
      svg("rect", { ...place, y: -radius, height, class: "precision-track" }),
      svg("rect", { ...place, y: radius - height * share, height: height * share, class: "precision" }),
    ];
  }

  function glyph(node, radius) {
    const width = radius * 0.36;
    const letters = code(integers.label[node]);
    const text = svg("text", { class: "code", dy: ".36em", "font-size": Math.round(radius * [0.72, 0.56, 0.42][letters.length - 1]) }, letters);
    return [
      svg("circle", { r: radius + 3, class: "disc" }),
      svg("circle", { r: radius + 7, class: "halo" }),
      ...ring(node, radius - width / 2, width),
      isTraining(node) ? svg("circle", { r: radius + 2.5, class: "given" }) : null,
      ...precisionBar(node, radius),
      text,
    ];
  }

  function description(entry) {
    const influence = entry.influence === null ? "" : `, influence ${influenceText(entry.influence)}`;
    const training = isTraining(entry.node) ? ", training label" : "";
    return `${data.names[entry.node]}: ${labelOf(entry.node)}, ${percent(probabilityOf(entry.node))}${influence}${training}`;
  }

  function positions(count, width, height) {
    const rx = width / 2 - Math.min(78, width * 0.15);
    const ry = height / 2 - 54;
    const isStaggered = count > 10;
    return Array.from({ length: count }, (_, i) => {
      const angle = (2 * Math.PI * i) / count - Math.PI / 2;
      const reach = isStaggered && i % 2 ? 0.66 : 1;
      const place = { x: width / 2 + rx * reach * Math.cos(angle), y: height / 2 - 6 + ry * reach * Math.sin(angle) };
      return { ...place, isAbove: Math.sin(angle) < -0.01 };
    });
  }

  function sides(drawn, places) {
    const at = new Map(drawn.map((entry, i) => [entry.node, places[i]]));
    const lines = [];
    for (const { node } of drawn) {
      for (let i = start[node]; i < start[node + 1]; i++) {
        const other = integers.neighbours[i];
        if (other > node && at.has(other)) {
          const [a, b] = [at.get(node), at.get(other)];
          lines.push(svg("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, class: "side" }));
        }
      }
    }
    return lines;
  }

  function neighbourLink(entry, place, spoke, radius) {
    const below = entry.influence === null ? percent(probabilityOf(entry.node)) : influenceText(entry.influence);
    const group = svg("a", { href: "#node=" + entry.node, transform: `translate(${place.x} ${place.y})`, "aria-label": description(entry), "data-node": entry.node });
    const top = place.isAbove ? -radius - 22 : radius + 17;
    const names = [
      svg("text", { class: "node-name", y: top }, shorten(data.names[entry.node], radius < 15 ? 9 : 13)),
      svg("text", { class: "node-value", y: top + 13 }, below),
    ];
    group.append(...glyph(entry.node, radius).filter(Boolean), ...names);
    const enter = () => { spoke.classList.add("lit"); showTip(entry, group); };
    const leave = () => { spoke.classList.remove("lit"); hideTip(); };
    for (const event of ["mouseenter", "focus"]) group.addEventListener(event, enter);
    for (const event of ["mouseleave", "blur"]) group.addEventListener(event, leave);
    return group;
  }

  const view = byId("view");
  const tip = html("div", { class: "tip", role: "tooltip", hidden: "" });

  function showTip(entry, group) {
    const known = integers.known[entry.node];
    const lines = [
      `${labelOf(entry.node)}, ${percent(probabilityOf(entry.node))}`,
      entry.influence === null ? "" : `influence ${influenceText(entry.influence)}`,
      known ? `${isTraining(entry.node) ? "training" : "true"} label: ${data.classes[known - 1]}` : "",
      plural(integers.degree[entry.node], "neighbour", "neighbours"),
    ];
    tip.replaceChildren(html("b", {}, bdi(data.names[entry.node])), ...lines.filter(Boolean).map((line) => html("span", {}, line)));
    tip.hidden = false;
    const [frame, mark] = [view.getBoundingClientRect(), group.getBoundingClientRect()];
    const isAbove = mark.top + mark.height / 2 < frame.top + frame.height / 2;
    const left = mark.left + mark.width / 2 - frame.left - tip.offsetWidth / 2;
    tip.style.left = Math.max(4, Math.min(left, frame.width - tip.offsetWidth - 4)) + "px";
    tip.style.top = (isAbove ? mark.top - frame.top - tip.offsetHeight - 4 : mark.bottom - frame.top + 4) + "px";
  }

  function hideTip() {
    tip.hidden = true;
  }

  function edgeWidth(entry, all) {
    if (entry.influence === null) return EDGE / 2;
    const mean = all.reduce((sum, other) => sum + other.influence, 0) / all.length;
    return Math.max(0.5, Math.min(WIDEST_EDGE, mean ? (EDGE * entry.influence) / mean : EDGE));
  }

  function drawView(node, isNew) {
    const width = Math.max(280, view.clientWidth - 14);
    const height = Math.round(width < NARROW ? width * 1.15 : Math.min(width * 0.82, 620));
    const all = neighboursOf(node);
    const drawn = all.slice(0, width < NARROW ? MAX_DRAWN_NARROW : MAX_DRAWN);
    const places = positions(drawn.length, width, height);
    const radius = width < NARROW ? 13 : 17;
    const middle = { x: width / 2, y: height / 2 - 6 };
    const spokes = drawn.map((entry, i) => svg("line", { x1: middle.x, y1: middle.y, x2: places[i].x, y2: places[i].y, class: "spoke", "stroke-width": edgeWidth(entry, all) }));
    const centre = svg("g", { class: "centre", tabindex: -1, transform: `translate(${middle.x} ${middle.y})`, role: "img", "aria-label": description({ node, influence: null }) });
    centre.append(...glyph(node, radius * 1.7).filter(Boolean), svg("text", { class: "node-name", y: radius * 1.7 + 18, "font-weight": 650 }, shorten(data.names[node], 18)));
    const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `${data.names[node]} and its neighbours` });
    if (numClasses > COLOURS) picture.append(svg("defs", {}, ...Array.from({ length: COLOURS }, (_, c) => stripes(c))));
    const links = drawn.map((entry, i) => neighbourLink(entry, places[i], spokes[i], radius));
    picture.append(svg("g", { class: isNew ? "grow" : "" }, ...sides(drawn, places), ...spokes, ...links, centre));
    tip.hidden = true;
    view.replaceChildren(picture, html("p", { class: "more" }, countText(node, drawn.length)), tip);
    return centre;
  }

  function countText(node, drawn) {
    const degree = integers.degree[node];
    if (!degree) return "This node has no neighbours.";
    const which = quantised.influence ? "those with the largest influence" : "the first of them";
    return drawn < degree ? `${drawn} of ${plural(degree, "neighbour", "neighbours")} drawn, ${which}.` : `${plural(degree, "neighbour", "neighbours")}, all drawn.`;
  }

  /* The facts of the selected node. */

  function fact(name, value) {
    return value === null ? [] : [html("dt", {}, name), html("dd", {}, bdi(value))];
  }

  function factList(node) {
    const known = integers.known[node];
    const split = data.splits[integers.split[node]];
    const truth = known ? data.classes[known - 1] + (isTraining(node) ? " (training label)" : " (not used for training)") : "unknown";
    return html("dl", {},
      ...fact("prediction set", integers.sets && setOf(node).join(", ")),
      ...fact("accepted", integers.accepted && ACCEPTED[integers.accepted[node]]),
      ...fact("true label", truth),
      ...fact("split", split),
      ...fact("own influence", quantised.own && influenceText(quantised.own(node))),
      ...facts.flatMap((it) => fact(it.title, it.is_share ? percent(it.at(node)) : it.at(node).toPrecision(3))));
  }

  function gauge(share, text, c, isPlain) {
    const bar = html("i", { style: `--share: ${Math.max(0, Math.min(100, 100 * share))}%` });
    if (c >= COLOURS && !isPlain) bar.classList.add("striped");
    return html("td", {}, html("div", { class: `gauge ${isPlain ? "plain" : "c" + (c % COLOURS)}` }, bar, html("span", {}, text)));
  }

  function barRow(node, c) {
    const row = html("tr", { "data-class": c }, html("th", { scope: "row" }, chip(c), " ", bdi(data.classes[c])));
    const p = of(quantised.probability, node, c);
    row.append(gauge(p, percent(p), c, false));
    for (const name of ["mu", "precision"].filter((name) => quantised[name])) {
      const value = of(quantised[name], node, c);
      row.append(gauge(value / (data[name].high || 1), value.toPrecision(3), c, name === "precision"));
    }
    if (c === integers.label[node]) row.className = "predicted";
    return row;
  }

  function bars(node) {
    let classes = data.classes.map((_, c) => c);
    if (numClasses > MAX_LABELS) {
      classes = classes.sort((a, b) => of(quantised.probability, node, b) - of(quantised.probability, node, a)).slice(0, MAX_LABELS);
    }
    const heads = ["label", "probability", ...(quantised.mu ? ["score μ"] : []), ...(quantised.precision ? ["precision"] : [])];
    const table = html("table", { "aria-label": "Confidence by label" }, html("colgroup", {}, html("col", { class: "label" })));
    table.append(html("thead", {}, html("tr", {}, ...heads.map((head) => html("th", { scope: "col" }, head)))));
    table.append(html("tbody", {}, ...classes.map((c) => barRow(node, c))));
    const rest = numClasses - classes.length;
    return [table, rest ? html("p", {}, `${plural(rest, "less probable label", "less probable labels")} not shown.`) : null];
  }

  function drawFacts(node) {
    const verdict = html("p", { class: "verdict" }, chip(integers.label[node]), " ", html("b", { id: "label" }, bdi(labelOf(node))), ", ", html("span", { id: "probability" }, percent(probabilityOf(node))));
    byId("facts").replaceChildren(html("h3", { id: "selected" }, bdi(data.names[node])), verdict, factList(node), ...bars(node).filter(Boolean));
  }

  function drawTable(node) {
    const heads = ["neighbour", "influence", "label", "probability", "true label", "split"];
    const rows = neighboursOf(node).slice(0, 200).map(({ node: other, influence }) => html("tr", {},
      html("td", {}, link(other)),
      html("td", { class: "number" }, influence === null ? "–" : influenceText(influence)),
      html("td", {}, bdi(labelOf(other))),
      html("td", { class: "number" }, percent(probabilityOf(other))),
      html("td", {}, bdi(integers.known[other] ? data.classes[integers.known[other] - 1] : "–")),
      html("td", {}, data.splits[integers.split[other]])));
    const head = html("thead", {}, html("tr", {}, ...heads.map((text) => html("th", { scope: "col" }, text))));
    document.querySelector("#neighbours .scroll").replaceChildren(html("table", { class: "numbers" }, head, html("tbody", {}, ...rows)));
  }

  /* Navigation: the selected node is part of the address, so back and forward work. */

  let current = -1;

  function nodeInAddress() {
    const found = /^#node=(\d+|home)$/.exec(location.hash);
    if (!found) return null;
    const node = found[1] === "home" ? data.home : Number(found[1]);
    return node < size ? node : null;
  }

  function show(node) {
    current = node;
    const centre = drawView(node, true);
    drawFacts(node);
    drawTable(node);
    byId("status").textContent = `${description({ node, influence: null })}. ${plural(integers.degree[node], "neighbour", "neighbours")}`;
    return centre;
  }

  function navigate() {
    const node = nodeInAddress();
    if (node === null) return;
    const wasInside = view.contains(document.activeElement);
    const centre = show(node);
    const section = byId("explorer");
    if (wasInside) centre.focus({ preventScroll: true });
    else if (document.activeElement !== byId("search")) section.focus({ preventScroll: true });
    const place = view.getBoundingClientRect();
    if (place.top < 0 || place.top > window.innerHeight * 0.6) section.scrollIntoView();
  }

  /* Search: names that begin with the text, then names that contain it. */

  const input = byId("search");
  const list = byId("suggestions");
  let suggested = [];
  let chosen = -1;

  function matches(text) {
    const [first, second] = [[], []];
    for (let i = 0; i < size && first.length < MAX_SUGGESTED; i++) {
      const at = searchable[i].indexOf(text);
      if (at === 0) first.push(i);
      else if (at > 0 && second.length < MAX_SUGGESTED) second.push(i);
    }
    const exact = searchable.indexOf(text);
    const found = [...(exact >= 0 ? [exact] : []), ...first, ...second];
    return [...new Set(found)].slice(0, MAX_SUGGESTED);
  }

  function suggest() {
    const text = input.value.trim().toLowerCase();
    suggested = text ? matches(text) : [];
    choose(suggested.length ? 0 : -1);
  }

  function choose(place) {
    chosen = place;
    list.replaceChildren(...suggested.map((node, i) => {
      const option = html("li", { role: "option", id: "option" + i, "aria-selected": i === chosen }, bdi(shorten(data.names[node], 60)), html("small", {}, labelOf(node)));
      option.addEventListener("mousedown", (event) => { event.preventDefault(); go(node); });
      return option;
    }));
    list.hidden = !suggested.length;
    input.setAttribute("aria-expanded", String(!list.hidden));
    if (chosen >= 0) input.setAttribute("aria-activedescendant", "option" + chosen);
    else input.removeAttribute("aria-activedescendant");
  }

  function go(node) {
    suggested = [];
    choose(-1);
    input.value = data.names[node];
    location.hash = "node=" + node;
  }

  input.addEventListener("input", suggest);
  input.addEventListener("focus", () => input.select());
  input.addEventListener("blur", () => { suggested = []; choose(-1); });
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && suggested.length) {
      event.preventDefault();
      choose((chosen + step + suggested.length) % suggested.length);
    } else if (event.key === "Enter" && chosen >= 0) go(suggested[chosen]);
    else if (event.key === "Escape") { suggested = []; choose(-1); }
  });

  /* Light or dark: the system's preference until the button is used. */

  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;

  function nameTheme() {
    const isDark = (root.dataset.theme || (prefersDark.matches ? "dark" : "light")) === "dark";
    byId("theme").textContent = isDark ? "Light" : "Dark";
    byId("theme").setAttribute("aria-pressed", String(isDark));
    return isDark;
  }

  prefersDark.addEventListener("change", nameTheme);
  byId("theme").addEventListener("click", () => {
    root.dataset.theme = nameTheme() ? "light" : "dark";
    nameTheme();
  });
  nameTheme();

  window.addEventListener("hashchange", navigate);
  let drawnWidth = 0;
  new ResizeObserver(() => {
    if (Math.abs(view.clientWidth - drawnWidth) > 20) drawView(current, false);
    drawnWidth = view.clientWidth;
  }).observe(view);
  drawnWidth = view.clientWidth;
  show(nodeInAddress() ?? data.home);
  document.body.dataset.ready = "yes";
})();
