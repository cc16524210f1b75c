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
    setTriggerValue("pick", target.getAttribute("data-pick"));
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
    const mark = root.querySelector("[data-reveal]");
    const view = mark && (mark.closest(".st-key-page-view") || mark);
    if (view && window.cragReveal && Date.now() - window.cragReveal < 8000) {
      window.cragReveal = 0;
      view.scrollIntoView({ block: "nearest", behavior: "smooth" });
    }
  };
  const watcher = new MutationObserver((changes) =>
    changes.forEach((change) => change.addedNodes.forEach((node) => restore(node.parentElement || node)))
  );
  document.addEventListener("click", onClick, true);
  document.addEventListener("toggle", onToggle, true);
  watcher.observe(document.body, { childList: true, subtree: true });
  return () => {
    document.removeEventListener("click", onClick, true);
    document.removeEventListener("toggle", onToggle, true);
    watcher.disconnect();
  };
}
