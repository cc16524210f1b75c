// Hears clicks on anything drawn with data-pick and tells the script which one; keeps opened details open and the
// keyboard's place when the drawing is renewed; brings a freshly opened view to the eye; keeps the browser's history to
// what a person did; announces how a run ended; leads to the question box by a key. It reads nothing else. Where several
// runs stand on a page, data-scope around each tells whose element it is.
//
// No click is lost: it is sent until the script says that it heard it, and a press and its release make one where the
// drawing was renewed between them. What this file does on its own, it does once for each loaded page.
const BOX = "[data-testid=stChatInputTextArea]";
const ASKS = `${BOX}, [data-testid=stChatInputSubmitButton], [data-pick^="ask:"], [class*="st-key-try-"] button`;
const VIEW = ".st-key-page-view";
const opened = new Map(), announced = new Set(), shown = new WeakSet();
const clicks = { waiting: [], last: 0, send: null };
let held = null, opener = null, pressed = null, revealing = null, touched = 0;

const closest = (event, what) => event.target.closest && event.target.closest(what);
const scope = (element) => {
  const around = element.closest("[data-scope]");
  return around ? `in:${around.getAttribute("data-scope")}:` : "";
};
const tell = (around, pick) => {
  if (/^(cite|chunk):/.test(pick)) revealing = { pick, since: Date.now() };
  clicks.last = Math.max(clicks.last + 1, Date.now());
  clicks.waiting.push([clicks.last, around + pick]);
  if (clicks.send) clicks.send();
};
const onClick = (event) => {
  const picked = closest(event, "[data-pick]:not(.picture *)");
  if (!picked) return;
  event.preventDefault();
  event.stopPropagation();
  const pick = picked.getAttribute("data-pick");
  // Who opens a view with the keyboard is taken into it, and back to where it was opened when it closes.
  if (event.detail === 0 && /^(cite|chunk):/.test(pick)) opener = { ...place(picked), pick, entered: false, scrolls: true };
  tell(scope(picked), pick);
};

// Where the keyboard stands, as it can be found again in a renewed drawing; null where it stands elsewhere.
const alike = ({ around, where }) => [...document.querySelectorAll(where)].filter((each) => scope(each) === around);
const place = (element) => {
  const stop = element.closest("[data-pick], details[data-keep] > summary");
  if (!stop) return element.closest(ASKS) ? { around: "", where: BOX, turn: 0 } : null;
  const kept = CSS.escape(stop.parentElement.getAttribute("data-keep") || "");
  const pick = stop.hasAttribute("data-pick") && `[data-pick="${CSS.escape(stop.getAttribute("data-pick"))}"]`;
  const found = { around: scope(stop), where: pick || `details[data-keep="${kept}"] > summary` };
  return { ...found, turn: alike(found).indexOf(stop) };
};
const refocus = () => {
  if (!held || (document.activeElement && document.activeElement !== document.body)) return;
  const found = alike(held), back = found[held.turn] || found[0];
  if (back) back.focus({ preventScroll: !held.scrolls });
};
const onFocus = (event) => (held = event.target.closest ? place(event.target) : null);
const follow = () => {
  const box = document.querySelector(VIEW), view = box && box.querySelector("[data-reveal]");
  if (view && opener && !opener.entered && view.getAttribute("data-reveal") === opener.pick) {
    opener.entered = true;
    view.focus({ preventScroll: true });
  }
  if (!box && opener && opener.entered) [held, opener] = [opener, null];
};
const onKey = (event) => {
  touched = Date.now();
  const wanted = event.ctrlKey || event.metaKey ? event.key === "k" : event.key === "/" && !event.altKey;
  const box = wanted && !closest(event, "input, textarea, [contenteditable], [role=dialog]") && document.querySelector(BOX);
  if (box) event.preventDefault(), box.focus();
  // Who asks with the keyboard goes on in the question box. The page is redrawn meanwhile, with another box.
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing && closest(event, ASKS)) {
    held = { around: "", where: BOX, turn: 0 };
  }
  const close = event.key === "Escape" && closest(event, VIEW) && document.querySelector(".st-key-page-close button");
  if (close) event.preventDefault(), close.click();
};

// The browser makes no click where the element pressed was replaced, or moved from under the pointer, before the release.
const onPress = (event) => {
  touched = Date.now();
  const element = closest(event, "[data-pick]") || closest(event, "button");
  const pick = element && element.getAttribute("data-pick");
  const here = { element, pick, around: element && scope(element), x: event.clientX, y: event.clientY };
  pressed = element && event.button === 0 ? here : null;
  if (!closest(event, "[data-pick], details[data-keep]")) held = null;
};
const onRelease = (event) => {
  const was = pressed;
  pressed = null;
  if (!was || was.element.contains(event.target) || Math.hypot(event.clientX - was.x, event.clientY - was.y) > 8) return;
  if (was.pick) tell(was.around, was.pick);
  else if (was.element.isConnected) was.element.click();
};

// A view opened by a click is brought to the eye from its top, and again whenever something that arrives later moves
// it, until a hand moves.
const reveal = () => {
  if (!revealing || touched > revealing.since || Date.now() - revealing.since > 30000) return (revealing = null);
  const box = document.querySelector(VIEW), view = box && box.querySelector("[data-reveal]");
  if (view && view.getAttribute("data-reveal") === revealing.pick) box.scrollIntoView({ block: "start", behavior: "instant" });
};
// In a page or text taller than its box, what is marked is shown with some lines above it; once for each mark, or a
// reader who scrolls on would be pulled back.
const toMark = (box, top) => (box.scrollTop += top - box.getBoundingClientRect().top - 0.25 * box.clientHeight);
const onLoad = (event) => {
  const box = closest(event, ".st-key-page-image"), mark = box && box.querySelector("[data-at]");
  if (mark) toMark(box, event.target.getBoundingClientRect().top + mark.getAttribute("data-at") * event.target.clientHeight);
  reveal();
};
const toWords = () => document.querySelectorAll(".st-key-page-text [data-first]").forEach((mark) => {
  if (!shown.has(mark)) toMark(mark.closest(".st-key-page-text"), mark.getBoundingClientRect().top);
  shown.add(mark);
});

// Screen readers hear only of changes in an element that was there before.
const announcer = document.createElement("div");
announcer.className = "unseen";
announcer.setAttribute("role", "status");
announcer.setAttribute("aria-live", "polite");
document.body.append(announcer);
const announce = () => document.querySelectorAll("[data-announce]").forEach((ended) => {
  const run = ended.getAttribute("data-run");
  if (!announced.has(run)) announcer.textContent = ended.getAttribute("data-announce");
  announced.add(run);
});

// What a person does is one step of the browser's history, however often the address changes until it is done: a page
// is opened, and then names the run that it shows.
const push = history.pushState.bind(history);
let acted = 0, stepped = Date.now();
history.pushState = (...entry) => {
  if (acted <= stepped) return history.replaceState(...entry);
  stepped = Date.now();
  return push(...entry);
};

const onToggle = (event) => {
  const id = event.target.getAttribute && event.target.getAttribute("data-keep");
  if (id) opened.set(scope(event.target) + id, event.target.open);
};
const restore = (root) => root.querySelectorAll && root.querySelectorAll("details[data-keep]").forEach((item) => {
  const was = opened.get(scope(item) + item.getAttribute("data-keep"));
  if (was !== undefined && item.open !== was) item.open = was;
});
const onChange = (changes) => {
  changes.forEach((change) => change.addedNodes.forEach((node) => restore(node.parentElement || node)));
  [follow, refocus, toWords, announce, reveal].forEach((look) => look());
};
const hear = (kinds, listener) => kinds.split(" ").forEach((kind) => document.addEventListener(kind, listener, true));
hear("click keydown pointerdown", () => (acted = Date.now()));
hear("wheel", () => (touched = Date.now()));
hear("click", onClick);
hear("keydown", onKey);
hear("pointerdown", onPress);
hear("pointerup", onRelease);
hear("toggle", onToggle);
hear("focusin", onFocus);
hear("load", onLoad);
hear("scroll", reveal);
const watched = { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled"] };
new MutationObserver(onChange).observe(document.body, watched);
document.documentElement.setAttribute("data-heard", "");

// Called with every run of the script, which says up to which click it has heard.
export default function ({ data, setTriggerValue }) {
  clicks.waiting = clicks.waiting.filter(([number]) => number > data.heard);
  const send = (clicks.send = () => setTriggerValue("pick", clicks.waiting.slice(0, 20)));
  if (clicks.waiting.length) send();
  return () => {
    if (clicks.send === send) clicks.send = null;
  };
}
