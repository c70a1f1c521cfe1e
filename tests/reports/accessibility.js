/* What an accessibility checker would find on the page that is open: a list of texts, empty where all is well.
   WCAG 2.2 AA, as far as a program can see it. */
(() => {
  const found = [];
  const shown = (element) => element.getClientRects().length > 0 && getComputedStyle(element).visibility !== "hidden";
  const all = (selector) => [...document.querySelectorAll(selector)].filter(shown);
  const say = (what, element) => found.push(`${what}: ${element.outerHTML.slice(0, 90)}`);
  const named = (element) =>
    element.getAttribute("aria-label") || element.textContent.trim() ||
    (element.getAttribute("aria-labelledby") || "").split(" ").map((id) => document.getElementById(id)?.textContent).join("");

  if (!document.documentElement.lang) found.push("no language");
  if (!document.title.trim()) found.push("no title");
  if (all("main").length !== 1) found.push("not one main part");
  if (all("h1").length !== 1) found.push("not one h1");

  let level = 0;
  for (const heading of all("h1, h2, h3, h4, h5, h6")) {
    const next = Number(heading.tagName[1]);
    if (next > level + 1) say("a level of headings is left out", heading);
    if (!heading.textContent.trim()) say("an empty heading", heading);
    level = next;
  }
  const landmarks = all("section, nav, [role=region]").map((element) =>
    element.getAttribute("aria-label") || document.getElementById(element.getAttribute("aria-labelledby"))?.textContent);
  if (landmarks.some((name) => !name)) found.push("a landmark without a name");
  if (new Set(landmarks).size !== landmarks.length) found.push("two landmarks of one name");
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  if (new Set(ids).size !== ids.length) found.push("an id twice");

  for (const control of all("input, select, textarea"))
    if (![...control.labels].some((label) => shown(label) && label.textContent.trim())) say("a field without a label", control);
  for (const control of all("button, a")) if (!named(control)) say("a control without a name", control);
  for (const picture of all("svg"))
    if (picture.getAttribute("aria-hidden") !== "true" && !picture.querySelector("title")) say("a picture without a title", picture);
  for (const head of all("th")) if (head.textContent.trim() && !head.scope) say("a head of a table without a scope", head);
  for (const element of all("[tabindex]")) if (element.tabIndex > 0) say("a tabindex that changes the order", element);
  for (const box of all("*")) {
    const scrolls = box.scrollWidth > box.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(box).overflowX);
    if (scrolls && box.tabIndex < 0 && !box.querySelector("a")) say("a keyboard cannot scroll it", box);
  }
  for (const control of all("button, input, select, nav a")) {
    const { width, height } = control.getBoundingClientRect();
    if (Math.min(width, height) < 24) say(`a target of ${width} by ${height}`, control);
  }

  const numbers = (colour) => {
    const parts = colour.match(/[\d.]+/g).map(Number);
    const unit = colour.startsWith("color(") ? 255 : 1;
    return [...parts.slice(0, 3).map((part) => part * unit), parts[3] ?? 1];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[3] * top[i] + (1 - top[3]) * below[i]);
  const luminance = (colour) => colour.slice(0, 3).map((value) => value / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    .reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
  function ground(element) {
    const layers = [];
    for (let node = element; node; node = node.parentElement) layers.push(numbers(getComputedStyle(node).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !shown(element) || element.closest("svg, script, style, [aria-hidden=true]")) continue;
    const style = getComputedStyle(element), below = ground(element), ink = over(numbers(style.color), below);
    const [low, high] = [luminance(ink), luminance(below)].sort((a, b) => a - b);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < (large ? 3 : 4.5)) say(`a contrast of ${ratio.toFixed(2)}`, element);
  }
  return found;
})()
