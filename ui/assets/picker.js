// Hears clicks on anything drawn with data-pick and tells the script which one; keeps opened details open when
// the drawing is renewed; brings a freshly opened view to the eye. It reads nothing else and builds no HTML.
export default function (component) {
  const { setTriggerValue } = component;
  const opened = (window.cragOpened = window.cragOpened || new Map());

  const onClick = (event) => {
    const target = event.target.closest && event.target.closest("[data-pick]");
    if (!target) return;
    event.preventDefault();
    event.stopPropagation();
    window.cragReveal = Date.now();
    window.cragRevealed = false;
    setTriggerValue("pick", target.getAttribute("data-pick"));
  };
  // A view opened by a click is shown from its top: soon, and once more when its page image has given it its height.
  const reveal = (loaded) => {
    const view = document.querySelector(".st-key-page-view");
    if (!view || !window.cragReveal || Date.now() - window.cragReveal > 8000) return;
    if (!loaded && window.cragRevealed) return;
    window.cragRevealed = true;
    if (loaded) window.cragReveal = 0;
    view.scrollIntoView({ block: "start", behavior: "smooth" });
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
    if (id) opened.set(id, event.target.open);
  };
  const restore = (root) => {
    if (!root.querySelectorAll) return;
    root.querySelectorAll("details[data-keep]").forEach((item) => {
      const was = opened.get(item.getAttribute("data-keep"));
      if (was !== undefined && item.open !== was) item.open = was;
    });
    if (root.querySelector("[data-reveal]")) window.setTimeout(() => reveal(false), 500);
  };
  const watcher = new MutationObserver((changes) =>
    changes.forEach((change) => change.addedNodes.forEach((node) => restore(node.parentElement || node)))
  );
  document.addEventListener("click", onClick, true);
  document.addEventListener("toggle", onToggle, true);
  document.addEventListener("load", onLoad, true);
  watcher.observe(document.body, { childList: true, subtree: true });
  return () => {
    document.removeEventListener("click", onClick, true);
    document.removeEventListener("toggle", onToggle, true);
    document.removeEventListener("load", onLoad, true);
    watcher.disconnect();
  };
}
