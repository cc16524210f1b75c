// Hears clicks on anything drawn with data-pick and tells the script which one; keeps opened details open and the
// keyboard's place when the drawing is renewed; brings a freshly opened view to the eye; keeps the browser's history to
// what a person did; announces how a run ended. It reads nothing else. Where several runs stand on a page, data-scope
// around each tells whose element it is.
//
// No click is lost: it is told until the script says that it heard it, and a press and its release make one where the
// drawing was renewed between them. What this file does on its own, it does once for each loaded page.
const opened = new Map(), clicks = { waiting: [], last: 0, send: null };
let focused = null, pressed = null, revealing = null;
let entering = null, opener = null, viewed = false, touched = 0;

const scope = (element) => {
  const around = element.closest("[data-scope]");
  return around ? `in:${around.getAttribute("data-scope")}:` : "";
};
const target = (event) => event.target.closest && event.target.closest("[data-pick]");
const name = (element) => scope(element) + element.getAttribute("data-pick");
const tell = (what) => {
  const view = /^(?:in:[^:]*:)?((?:cite|chunk):.*)$/.exec(what);
  if (view) reveal((revealing = { what: view[1], since: Date.now(), top: null, still: 0 }));
  clicks.last = Math.max(clicks.last + 1, Date.now());
  clicks.waiting.push([clicks.last, what]);
  if (clicks.send) clicks.send();
};
const onClick = (event) => {
  const picked = target(event);
  if (!picked) return;
  event.preventDefault();
  event.stopPropagation();
  if (event.detail === 0) enter(picked);
  tell(name(picked));
};
// Who opens a view with the keyboard is taken into it, and back to where it was opened when it closes.
const enter = (picked) => {
  const pick = picked.getAttribute("data-pick");
  if (!/^(cite|chunk):/.test(pick)) return;
  const alike = document.querySelectorAll(`[data-pick="${CSS.escape(pick)}"]`);
  [entering, opener] = [pick, [pick, [...alike].indexOf(picked)]];
  look();
};
const look = () => {
  const box = document.querySelector(".st-key-page-view"), view = box && box.querySelector("[data-reveal]");
  if (view && entering !== null && view.getAttribute("data-reveal") === entering) {
    entering = null;
    view.focus({ preventScroll: true });
  }
  if (viewed && !box && opener) goBack(opener, Date.now() + 5000);
  if (viewed && !box) opener = null;
  viewed = box !== null;
};
// What was left may still be drawn anew, and what held the keyboard still be there: so for a while, until a hand moves.
const goBack = (where, until) => {
  if (touched > until - 5000 || Date.now() > until) return;
  const alike = document.querySelectorAll(`[data-pick="${CSS.escape(where[0])}"]`);
  const back = alike[where[1]] || alike[0], free = !document.activeElement || document.activeElement === document.body;
  if (back && free) back.focus();
  if (document.activeElement !== back) window.setTimeout(() => goBack(where, until), 50);
};
const onKey = (event) => {
  touched = Date.now();
  const enters = event.key === "Enter" && !event.shiftKey && !event.isComposing && event.target.closest;
  if (enters && event.target.closest(ASKS)) toBox(touched);
  const close = event.key === "Escape" && document.querySelector(".st-key-page-close button");
  if (!close || !event.target.closest || !event.target.closest(".st-key-page-view")) return;
  event.preventDefault();
  close.click();
};
// Screen readers hear only of changes in an element that was there before.
const announcer = document.createElement("div");
announcer.className = "unseen";
announcer.setAttribute("role", "status");
announcer.setAttribute("aria-live", "polite");
document.body.append(announcer);
const say = (what) => {
  announcer.textContent = "";
  window.setTimeout(() => (announcer.textContent = what), 100);
};
// Who asks with the keyboard goes on in the question box. The page is drawn anew meanwhile, with another box.
const BOX = "[data-testid=stChatInputTextArea]", SEND = "[data-testid=stChatInputSubmitButton]";
const ASKS = `${BOX}, ${SEND}, [data-pick^="ask:"], [class*="st-key-try-"] button`;
const toBox = (since) => {
  if (touched > since || Date.now() - since > 30000) return;
  const box = document.querySelector(BOX), free = !document.activeElement || document.activeElement === document.body;
  if (box && free) box.focus({ preventScroll: true });
  window.setTimeout(toBox, 100, since);
};
// What a person does is one step of the browser's history, however often the address changes until it is done: a page
// is opened, and then names the run that it shows.
const push = history.pushState.bind(history);
let acted = 0, stepped = Date.now();
history.pushState = (...entry) => {
  if (acted <= stepped) return history.replaceState(...entry);
  stepped = Date.now();
  return push(...entry);
};
const onAct = () => (acted = Date.now());
const announced = new Set();
const announce = () => document.querySelectorAll("[data-announce]").forEach((ended) => {
  const run = ended.getAttribute("data-run");
  if (announced.has(run)) return;
  announced.add(run);
  say(ended.getAttribute("data-announce"));
});
const onPress = (event) => {
  touched = Date.now();
  const picked = target(event), element = picked || (event.target.closest && event.target.closest("button"));
  const here = { element, what: picked && name(picked), x: event.clientX, y: event.clientY };
  pressed = element && event.button === 0 ? here : null;
  if (!(event.target.closest && event.target.closest("[data-pick], details[data-keep]"))) focused = null;
};
// The browser makes no click where the element pressed was replaced, or moved from under the pointer, before the release.
const onRelease = (event) => {
  const was = pressed;
  pressed = null;
  if (!was || was.element.contains(event.target) || Math.hypot(event.clientX - was.x, event.clientY - was.y) > 8) return;
  if (was.what) tell(was.what);
  else if (was.element.isConnected) was.element.click();
};
// What the keyboard stands on, as it can be found again in a renewed drawing; null where it stands elsewhere.
const place = (element) => {
  const button = element.closest("[data-pick]"), folded = element.closest("details[data-keep] > summary");
  if (button) return [scope(button), "data-pick", button.getAttribute("data-pick")];
  return folded ? [scope(folded), "data-keep", folded.parentElement.getAttribute("data-keep")] : null;
};
const onFocus = (event) => (focused = event.target.closest ? place(event.target) : null);
const refocus = (root) => {
  if (!focused || (document.activeElement && document.activeElement !== document.body)) return;
  const [around, name, value] = focused;
  const found = [...root.querySelectorAll(`[${name}="${CSS.escape(value)}"]`)].find((each) => scope(each) === around);
  if (found) (name === "data-keep" ? found.querySelector("summary") : found).focus({ preventScroll: true });
};
// A view opened by a click is brought to the eye from its top, and again where what stands around it arrives later (the
// page may be too short at first to scroll so far), until it stood there for two seconds of a finished script with its
// page image, or a hand moves. It glides there once, where frames are drawn fast enough for that; else it jumps.
const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
const reveal = (each) => {
  if (revealing !== each || touched > each.since || Date.now() - each.since > 30000) return;
  const box = document.querySelector(".st-key-page-view"), drawn = box && box.querySelector("[data-reveal]");
  if (drawn && drawn.getAttribute("data-reveal") === each.what) {
    const at = () => box.getBoundingClientRect().top, first = each.top === null, top = at();
    const moves = !first && Math.abs(top - each.top) > 1;
    if (!moves) box.scrollIntoView({ block: "start", behavior: first && !calm.matches ? "smooth" : "instant" });
    each.top = at();
    const whole = [...box.querySelectorAll("img")].every((image) => image.complete);
    const there = Math.abs(each.top - top) <= 1 && top < window.innerHeight / 2;
    const over = whole && !document.querySelector("[data-test-script-state=running]");
    if (first || moves || !there || !over) each.still = Date.now();
    if (Date.now() - each.still > 2000) return;
  }
  window.setTimeout(reveal, 150, each);
};
// A page taller than its box is shown where its marked words begin, with some lines above them.
const toMark = (image) => {
  const box = image.closest && image.closest(".st-key-page-image");
  const mark = box && box.querySelector("[data-at]");
  if (!mark) return;
  const above = image.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop;
  box.scrollTop = above + Number(mark.getAttribute("data-at")) * image.clientHeight - 0.25 * box.clientHeight;
};
// A text taller than its box too; once for each mark that is drawn, or a reader who scrolls on would be pulled back.
const shown = new WeakSet();
const toWords = (root) => root.querySelectorAll(".st-key-page-text [data-first]").forEach((mark) => {
  const box = mark.closest(".st-key-page-text");
  if (shown.has(mark)) return;
  shown.add(mark);
  const above = mark.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop;
  box.scrollTop = above - 0.25 * box.clientHeight;
});
const onLoad = (event) => toMark(event.target);
const onWheel = () => (touched = Date.now());
const onToggle = (event) => {
  const id = event.target.getAttribute && event.target.getAttribute("data-keep");
  if (id) opened.set(scope(event.target) + id, event.target.open);
};
const restore = (root) => {
  if (!root.querySelectorAll) return;
  root.querySelectorAll("details[data-keep]").forEach((item) => {
    const was = opened.get(scope(item) + item.getAttribute("data-keep"));
    if (was !== undefined && item.open !== was) item.open = was;
  });
  refocus(root);
  toWords(document);
};
const watcher = new MutationObserver((changes) => {
  changes.forEach((change) => change.addedNodes.forEach((node) => restore(node.parentElement || node)));
  look();
  announce();
});
document.addEventListener("click", onClick, true);
document.addEventListener("keydown", onKey, true);
["click", "keydown", "pointerdown"].forEach((kind) => document.addEventListener(kind, onAct, true));
document.addEventListener("pointerdown", onPress, true);
document.addEventListener("pointerup", onRelease, true);
document.addEventListener("wheel", onWheel, { capture: true, passive: true });
document.addEventListener("toggle", onToggle, true);
document.addEventListener("focusin", onFocus, true);
document.addEventListener("load", onLoad, true);
watcher.observe(document.body, { childList: true, subtree: true });
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
