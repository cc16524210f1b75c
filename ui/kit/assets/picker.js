// Hears clicks on anything drawn with data-pick and tells the script which one; keeps opened details open and the
// keyboard's place when the drawing is renewed; brings a freshly opened view to the eye. It reads nothing else and
// builds no HTML. Where several runs stand on a page, data-scope around each tells whose element it is.
export default function (component) {
  const { setTriggerValue } = component;
  const opened = (window.cragOpened = window.cragOpened || new Map());

  const scope = (element) => {
    const around = element.closest("[data-scope]");
    return around ? `in:${around.getAttribute("data-scope")}:` : "";
  };
  const onClick = (event) => {
    const target = event.target.closest && event.target.closest("[data-pick]");
    if (!target) return;
    event.preventDefault();
    event.stopPropagation();
    const pick = target.getAttribute("data-pick");
    if (/^(cite|chunk):/.test(pick)) {
      window.cragReveal = Date.now();
      window.cragRevealed = false;
    }
    setTriggerValue("pick", scope(target) + pick);
  };
  // What the keyboard stands on, as it can be found again in a renewed drawing; null where it stands elsewhere.
  const place = (element) => {
    const button = element.closest("[data-pick]"), folded = element.closest("details[data-keep] > summary");
    if (button) return [scope(button), "data-pick", button.getAttribute("data-pick")];
    return folded ? [scope(folded), "data-keep", folded.parentElement.getAttribute("data-keep")] : null;
  };
  const onFocus = (event) => (window.cragFocus = event.target.closest ? place(event.target) : null);
  const refocus = (root) => {
    if (!window.cragFocus || (document.activeElement && document.activeElement !== document.body)) return;
    const [around, name, value] = window.cragFocus;
    const found = [...root.querySelectorAll(`[${name}="${CSS.escape(value)}"]`)].find((each) => scope(each) === around);
    if (found) (name === "data-keep" ? found.querySelector("summary") : found).focus({ preventScroll: true });
  };
  const onPress = (event) => {
    if (!(event.target.closest && event.target.closest("[data-pick], details[data-keep]"))) window.cragFocus = null;
  };
  // A view opened by a click is shown from its top: soon, and once more when its page image has given it its height.
  const reveal = (loaded) => {
    const view = document.querySelector(".st-key-page-view");
    if (!view || !window.cragReveal || Date.now() - window.cragReveal > 8000) return;
    if (!loaded && window.cragRevealed) return;
    window.cragRevealed = true;
    if (loaded) window.cragReveal = 0;
    view.scrollIntoView({ block: "start", behavior: "smooth" });
    // What stands beneath may still be on its way, and the page too short to scroll so far.
    if (loaded) window.setTimeout(() => view.getBoundingClientRect().top > window.innerHeight / 2 &&
      view.scrollIntoView({ block: "start", behavior: "smooth" }), 900);
  };
  // A page taller than its box is shown where its marked words begin, with some lines above them.
  const toMark = (image) => {
    const box = image.closest && image.closest(".st-key-page-image");
    const mark = box && box.querySelector("[data-at]");
    if (!mark) return;
    const above = image.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop;
    box.scrollTop = above + Number(mark.getAttribute("data-at")) * image.clientHeight - 0.25 * box.clientHeight;
  };
  const onLoad = (event) => {
    toMark(event.target);
    if (event.target.closest && event.target.closest(".st-key-page-view")) reveal(true);
  };
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
    if (root.querySelector("[data-reveal]")) window.setTimeout(() => reveal(false), 500);
  };
  const watcher = new MutationObserver((changes) =>
    changes.forEach((change) => change.addedNodes.forEach((node) => restore(node.parentElement || node)))
  );
  document.addEventListener("click", onClick, true);
  document.addEventListener("toggle", onToggle, true);
  document.addEventListener("focusin", onFocus, true);
  document.addEventListener("pointerdown", onPress, true);
  document.addEventListener("load", onLoad, true);
  watcher.observe(document.body, { childList: true, subtree: true });
  return () => {
    document.removeEventListener("click", onClick, true);
    document.removeEventListener("toggle", onToggle, true);
    document.removeEventListener("focusin", onFocus, true);
    document.removeEventListener("pointerdown", onPress, true);
    document.removeEventListener("load", onLoad, true);
    watcher.disconnect();
  };
}
