// Search, dark mode and copying of code. All pages read without this file.
"use strict";

// The script lies at the root of the site, wherever that is.
const rootURL = new URL(".", document.currentScript.src);
const pagesURL = new URL("pages.json", rootURL);

// Theme: what the reader chose last, else what the system has.
const themeButton = document.querySelector(".theme-button");
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : systemIsDark.matches;
}

function showTheme() {
  themeButton.textContent = isDark() ? "Light" : "Dark";
  themeButton.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} mode`);
}

const remembered = localStorage.getItem("theme");
if (remembered) document.documentElement.dataset.theme = remembered;
themeButton.addEventListener("click", () => {
  const theme = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("theme", theme);
  showTheme();
});
systemIsDark.addEventListener("change", showTheme);
themeButton.hidden = false;
showTheme();

// Code blocks get a button that copies them.
for (const pre of document.querySelectorAll("pre")) {
  const block = pre.closest(".highlight") ?? pre;
  const frame = document.createElement("div");
  frame.className = "code";
  const button = document.createElement("button");
  button.textContent = "Copy";
  button.setAttribute("aria-label", "Copy this code");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(pre.textContent.trimEnd() + "\n");
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not permitted";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  block.replaceWith(frame);
  frame.append(block, button);
}

// Search: every word must begin a word of the page; titles count more than headings, those more than text.
const box = document.querySelector("search");
const input = box.querySelector("input");
const results = document.getElementById("results");
const mostResults = 10;
let pages;

function begins(text, word) {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1])) return at;
  }
  return -1;
}

async function loadPages() {
  const answer = await fetch(pagesURL);
  if (!answer.ok) throw new Error(`${pagesURL}: ${answer.status}`);
  return (await answer.json()).map((page) => ({
    ...page,
    lowerTitle: page.title.toLowerCase(),
    lowerText: page.text.toLowerCase(),
    headings: page.headings.map(([id, title]) => ({ id, title, lower: title.toLowerCase() })),
  }));
}

function match(page, words) {
  let score = 0;
  for (const word of words) {
    if (begins(page.lowerTitle, word) >= 0) score += 10;
    else if (page.headings.some((h) => begins(h.lower, word) >= 0)) score += 4;
    else if (begins(page.lowerText, word) >= 0) score += 1;
    else return null;
  }
  const heading = page.headings.find((h) => words.every((word) => begins(h.lower, word) >= 0));
  if (heading) score += 3;
  const at = Math.max(0, begins(page.lowerText, words[0]) - 40);
  return { page, score, heading, excerpt: page.text.slice(at, at + 140) };
}

function show(found, isEmpty) {
  results.replaceChildren(...found.slice(0, mostResults).map(({ page, heading, excerpt }) => {
    const link = document.createElement("a");
    link.href = new URL(page.url + (heading ? `#${heading.id}` : ""), rootURL);
    const small = document.createElement("small");
    small.textContent = excerpt;
    link.append(page.title + (heading && heading.title !== page.title ? ` › ${heading.title}` : ""), small);
    const item = document.createElement("li");
    item.append(link);
    return item;
  }));
  if (!isEmpty && found.length === 0) {
    const none = document.createElement("li");
    none.className = "none";
    none.textContent = "No page has these words.";
    results.append(none);
  }
  results.hidden = isEmpty;
}

async function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  pages ??= loadPages();
  let loaded;
  try {
    loaded = await pages;
  } catch (error) {
    pages = undefined;
    console.error(error);
    return;
  }
  const found = words.length ? loaded.map((page) => match(page, words)).filter(Boolean) : [];
  found.sort((a, b) => b.score - a.score);
  show(found, words.length === 0);
}

input.addEventListener("input", search);
box.addEventListener("keydown", (event) => {
  const links = [...results.querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  if (event.key === "Escape") { show([], true); input.focus(); }
  else if (event.key === "Enter" && at < 0) links[0]?.click();
  else if (event.key === "ArrowDown") links[Math.min(at + 1, links.length - 1)]?.focus();
  else if (event.key === "ArrowUp") (links[at - 1] ?? input).focus();
  else return;
  if (event.key !== "Enter") event.preventDefault();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target.closest("input, textarea")) return;
  event.preventDefault();
  input.focus();
});
document.addEventListener("click", (event) => { if (!box.contains(event.target)) results.hidden = true; });
box.hidden = false;
