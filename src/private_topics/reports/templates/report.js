"use strict";
/* The controls of a report: they re-arrange what the page already holds.
   Text goes in as text (textContent) alone; the page's policy stops a script that would make elements of it. */

const data = JSON.parse(document.getElementById("data").textContent);
const byIndex = new Map(data.topics.map((topic) => [topic.index, topic]));
const get = (id) => document.getElementById(id);
const cards = [...document.querySelectorAll("#cards > .topic")];
const discs = [...document.querySelectorAll("svg.map a")];
const topicOf = (element) => byIndex.get(Number(element.dataset.topic));
const TINY = 1e-12, COMPARED = 10, SVG = document.querySelector("svg").namespaceURI;
let lambda = 1;

function percent(fraction) {
  const value = 100 * fraction;
  if (value > 0 && value < 0.05) return "<0.1%";
  return value >= 99.95 || value === 0 ? value.toFixed(0) + "%" : value.toFixed(1) + "%";
}

function make(tag, text, kind) {
  const element = document.createElement(tag);
  element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

/* Relevance (Sievert and Shirley 2014): probability at lambda 1, lift over the whole text at 0. */
function relevance([word, weight]) {
  const log = Math.log(Math.max(weight, TINY));
  return lambda * log + (1 - lambda) * (log - Math.log(Math.max(data.usual[word], TINY)));
}

function ranked(topic) {
  const scored = topic.words.map((entry) => [relevance(entry), entry]);
  return scored.sort((a, b) => b[0] - a[0]).map((pair) => pair[1]);
}

const along = (value) => (100 * Math.min(Math.max(value / data.longest, 0), 1)).toFixed(2);

function place(bar, kind, attributes) {
  const found = bar.querySelector("." + kind);
  if (found) for (const [name, value] of Object.entries(attributes)) found.setAttribute(name, value);
}

function showWord(item, [word, weight, low, high]) {
  const name = item.querySelector("bdi"), bar = item.querySelector(".bar");
  name.textContent = name.title = data.words[word];
  item.dataset.word = word;
  item.querySelector(".weight").textContent = percent(weight);
  place(bar, "value", { width: along(weight) });
  place(bar, "usual", { x: along(data.usual[word]) });
  const known = low !== undefined;
  place(bar, "span", { x: along(known ? low : 0), width: known ? (along(high) - along(low)).toFixed(2) : 0 });
}

function rank() {
  for (const card of cards) {
    const order = ranked(topicOf(card));
    card.querySelectorAll(".words li").forEach((item, i) => showWord(item, order[i]));
  }
  find();
  if (!get("rank")) return;
  const said = lambda === 1 ? "probability" : lambda === 0 ? "distinctiveness" : "both";
  get("lambda").textContent = `${said} (λ = ${lambda})`;
  get("ranked").textContent = lambda === 1 ? "" : `Words are ranked by relevance at λ = ${lambda}, not by probability.`;
  get("rank").setAttribute("aria-valuetext", `lambda ${lambda}, ${said}`);
}

function sort() {
  const key = get("sort").value, first = (topic) => data.words[topic.words[0][0]];
  const orders = {
    evidence: (a, b) => b.deviations - a.deviations || b.share - a.share || a.index - b.index,
    share: (a, b) => b.share - a.share || a.index - b.index,
    index: (a, b) => a.index - b.index,
    first: (a, b) => first(a).localeCompare(first(b)),
    label: (a, b) => (a.label ?? "").localeCompare(b.label ?? "") || a.index - b.index,
    reliability: (a, b) => (b.reliability ?? 0) - (a.reliability ?? 0) || a.index - b.index,
  };
  cards.sort((a, b) => orders[key](topicOf(a), topicOf(b)));
  get("cards").append(...cards);
}

/* Words that contain what was typed: topics that lead with one of them stay bright, the others fade. */
function find() {
  const wanted = get("find").value.trim().toLocaleLowerCase();
  const hits = new Map();
  const known = data.words.map((word) => wanted !== "" && word.toLocaleLowerCase().includes(wanted));
  for (const topic of data.topics) {
    const found = topic.words.filter(([word]) => known[word]);
    if (found.length) hits.set(topic.index, found);
  }
  for (const element of [...cards, ...discs]) {
    const hit = hits.has(Number(element.dataset.topic));
    element.classList.toggle("hit", hit);
    element.classList.toggle("miss", wanted !== "" && !hit);
  }
  for (const item of document.querySelectorAll("#cards .words li"))
    item.classList.toggle("match", known[item.dataset.word] === true);
  get("found").textContent = wanted === "" ? "" : foundText(hits);
}

function foundText(hits) {
  if (!hits.size) return "No topic leads with such a word.";
  const parts = [...hits].map(([index, found]) => {
    const words = found.slice(0, 3).map(([word, weight]) => `${data.words[word]} ${percent(weight)}`);
    return `topic ${index} (${words.join(", ")}${found.length > 3 ? ", …" : ""})`;
  });
  return `In ${hits.size} of ${data.topics.length} topics: ${parts.join("; ")}.`;
}

function closest(topic) {
  const row = data.distances[topic.index];
  const others = data.topics.filter((other) => other !== topic);
  return others.reduce((best, other) => (row[other.index] < row[best.index] ? other : best));
}

function describe(topic) {
  const near = closest(topic), words = make("ol", "", "plain");
  for (const [word, weight] of ranked(topic).slice(0, 6)) {
    const item = make("li", "");
    item.append(make("bdi", data.words[word]), make("span", percent(weight), "weight"));
    words.append(item);
  }
  const facts = [`${percent(topic.share)} of the text`];
  if (topic.reliability !== null) facts.push(`reliability ${percent(topic.reliability)}`);
  const distance = data.distances[topic.index][near.index].toFixed(2);
  get("detail").replaceChildren(
    make("h3", topic.name), make("p", facts.join(" · "), "soft"), words,
    make("p", `Closest: topic ${near.index}, at ${distance}`, "small soft"));
}

/* Two topics: words ordered by what the one has more of than the other. A word that is not among the leading
   ones of a topic is below the least of them there. */
function compare() {
  const pair = ["left", "right"].map((id) => byIndex.get(Number(get(id).value)));
  const weights = pair.map((topic) => new Map(topic.words));
  const least = pair.map((topic) => topic.words[topic.words.length - 1][1]);
  const words = new Set(pair.flatMap((topic) => ranked(topic).slice(0, COMPARED).map(([word]) => word)));
  const more = (word) => (weights[0].get(word) ?? 0) - (weights[1].get(word) ?? 0);
  const ordered = [...words].sort((a, b) => more(b) - more(a));
  const rows = ordered.map((word) => {
    const row = make("tr", ""), name = make("th", "");
    name.scope = "row";
    name.append(make("bdi", data.words[word]));
    row.append(side(0, word), name, side(1, word));
    return row;
  });
  function side(number, word) {
    const cell = make("td", "", number ? "second" : "first"), weight = weights[number].get(word);
    const length = along(weight ?? 0);
    const meter = document.createElementNS(SVG, "svg");
    meter.setAttribute("aria-hidden", "true");
    const bar = document.createElementNS(SVG, "rect");
    bar.setAttribute("width", length + "%");
    bar.setAttribute("x", number ? "0" : (100 - length).toFixed(2) + "%");
    bar.setAttribute("height", "100%");
    meter.append(bar);
    cell.append(meter, make("span", weight === undefined ? "<" + percent(least[number]).replace("<", "") : percent(weight)));
    return cell;
  }
  get("pair").tBodies[0].replaceChildren(...rows);
  const heads = get("pair").tHead.rows[0].cells;
  [heads[0].textContent, heads[2].textContent] = pair.map((topic) => topic.name);
  const distance = data.distances[pair[0].index][pair[1].index].toFixed(2);
  get("apart").textContent = `Distance ${distance}, where 0 is equal and 1 means no common word.`;
}

function compareWithClosest(topic) {
  get("left").value = topic.index;
  get("right").value = closest(topic).index;
  compare();
  get("compare").scrollIntoView();
  get("left").focus({ preventScroll: true });
}

/* The dark colours are a block of the style sheet for those who prefer them; the button moves its condition. */
function theme() {
  const dark = [...document.styleSheets[0].cssRules].find((rule) => rule.media?.mediaText.includes("dark"));
  const preferred = matchMedia("(prefers-color-scheme: dark)").matches, button = get("theme");
  const show = (on) => {
    dark.media.mediaText = on ? "screen" : "not all";
    document.documentElement.style.colorScheme = on ? "dark" : "light";
    button.setAttribute("aria-pressed", on);
  };
  button.setAttribute("aria-pressed", preferred);
  button.addEventListener("click", () => show(button.getAttribute("aria-pressed") !== "true"));
}

for (const element of document.querySelectorAll("[data-control]")) element.hidden = false;
theme();
get("find").addEventListener("input", find);
if (cards.length > 1) {
  get("rank").addEventListener("input", () => {
    lambda = Number(get("rank").value);
    rank();
    compare();
  });
  get("sort").addEventListener("change", sort);
  for (const disc of discs)
    for (const event of ["pointerenter", "focus"]) disc.addEventListener(event, () => describe(topicOf(disc)));
  for (const id of ["left", "right"]) {
    for (const topic of data.topics) get(id).append(new Option(topic.name, topic.index));
    get(id).addEventListener("change", compare);
  }
  for (const card of cards)
    card.querySelector(".near").addEventListener("click", () => compareWithClosest(topicOf(card)));
  get("right").value = closest(data.topics[0]).index;
  lambda = Number(get("rank").value);
  describe(data.topics[0]);
  compare();
}
rank();
