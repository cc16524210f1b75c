// Steps through a run that is drawn as scenes (.slideshow): arrow keys, the keys of a clicker, buttons; the whole screen where
// the browser has one. It reads and builds nothing, and asks for nothing. The app and exported pages share it.
(() => {
  if (document.documentElement.hasAttribute("data-presents")) return;
  document.documentElement.setAttribute("data-presents", "");
  let opener = null, stood = null; // the button that began, and the scene that the app's presentation stands at

  const shown = () => document.querySelector(".slideshow:not([hidden])");
  const part = (slideshow, name) => slideshow.querySelector(`[data-step=${name}]`);
  const inApp = (slideshow) => slideshow.classList.contains("app");
  const whole = () => document.fullscreenElement !== null;

  const show = (slideshow, wanted) => {
    const scenes = [...slideshow.querySelectorAll(".scene")], last = scenes.length - 1;
    const now = Math.min(last, Math.max(0, wanted));
    scenes.forEach((scene, place) => scene.classList.toggle("shown", place === now));
    slideshow.querySelectorAll(".marks li").forEach((mark, place) => {
      mark.classList.toggle("past", place < now);
      mark.classList.toggle("now", place === now);
    });
    slideshow.querySelector(".place").textContent = `${now + 1} of ${scenes.length}`;
    slideshow.querySelector(".unseen").textContent = scenes[now].querySelector("h2").textContent;
    for (const [name, off] of [["back", now === 0], ["on", now === last]]) {
      if (off && document.activeElement === part(slideshow, name)) slideshow.focus({ preventScroll: true });
      part(slideshow, name).disabled = off;
    }
    slideshow.setAttribute("data-at", String(now));
    if (!inApp(slideshow)) return;
    stood = now;
    history.replaceState(history.state, "", `#${now + 1}`);
  };
  const step = (slideshow, by) => show(slideshow, Number(slideshow.getAttribute("data-at")) + by);
  const fill = () => (whole() ? document.exitFullscreen() : document.documentElement.requestFullscreen()).catch(() => {});
  const close = (slideshow) => {
    if (whole()) fill();
    if (inApp(slideshow)) return;
    slideshow.hidden = true;
    if (opener) opener.focus();
  };
  const begin = (slideshow) => {
    slideshow.setAttribute("data-started", "");
    show(slideshow, inApp(slideshow) ? stood ?? Number(location.hash.slice(1)) - 1 : 0);
    part(slideshow, "fill").hidden = !document.fullscreenEnabled;
    slideshow.focus({ preventScroll: true });
  };
  // What lies under the slideshow is not to be reached with Tab.
  const turn = (slideshow, by) => {
    const stops = [...slideshow.querySelectorAll(".toolbar button:not(:disabled):not([hidden])")];
    const next = stops.indexOf(document.activeElement) + by;
    stops[(next + stops.length) % stops.length].focus();
  };

  const STEPS = { ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1 };
  document.addEventListener("keydown", (event) => {
    const slideshow = shown(), back = event.shiftKey ? -1 : 1;
    if (!slideshow || event.ctrlKey || event.metaKey || event.altKey) return;
    const scene = slideshow.querySelector(".scene.shown");
    const tall = scene && scene.scrollHeight > scene.clientHeight + 4;
    if (event.key === " " && event.target.closest && event.target.closest("button")) return;
    if (tall && (event.key === "ArrowDown" || event.key === "ArrowUp")) scene.scrollBy(0, 120 * STEPS[event.key]);
    else if (event.key in STEPS) step(slideshow, event.key === " " ? back : STEPS[event.key]);
    else if (event.key === "Home") show(slideshow, 0);
    else if (event.key === "End") show(slideshow, Infinity);
    else if (event.key === "f" && document.fullscreenEnabled) fill();
    else if (event.key === "Escape" && !whole()) part(slideshow, "close").click();
    else if (event.key === "Tab") turn(slideshow, back);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }, true);
  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("[data-step], [data-present]");
    if (!button) return;
    const named = button.getAttribute("data-present");
    if (named !== null) {
      opener = button;
      const slideshow = document.querySelector(`.slideshow[data-slideshow="${CSS.escape(named)}"]`);
      slideshow.hidden = false;
      return begin(slideshow);
    }
    const acts = { back: (slideshow) => step(slideshow, -1), on: (slideshow) => step(slideshow, 1), fill, close };
    acts[button.getAttribute("data-step")](button.closest(".slideshow"));
  });
  const look = () => {
    document.querySelectorAll(".slideshow:not([hidden]):not([data-started])").forEach(begin);
    if (stood === null || document.querySelector(".slideshow")) return;
    stood = null; // the app has left it: the next one begins at its beginning
    history.replaceState(history.state, "", location.pathname + location.search);
  };
  document.querySelectorAll("[data-present]").forEach((button) => (button.hidden = false));
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
  look();
})();
