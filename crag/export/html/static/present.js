// Steps through a run that is drawn as scenes (.slideshow): arrow keys, the keys of a clicker, buttons; the whole screen where
// the browser has one. It reads and builds nothing, and asks for nothing. The app and exported pages share it.
(() => {
  if (document.documentElement.hasAttribute("data-presents")) return;
  document.documentElement.setAttribute("data-presents", "");
  const at = new Map();
  let opener = null;

  const shown = () => [...document.querySelectorAll(".slideshow")].find((slideshow) => !slideshow.hidden);
  const key = (slideshow) => slideshow.getAttribute("data-slideshow");
  const inApp = (slideshow) => slideshow.classList.contains("app");
  const whole = () => document.fullscreenElement !== null;

  const show = (slideshow, wanted) => {
    const scenes = [...slideshow.querySelectorAll(".scene")];
    const now = Math.min(scenes.length - 1, Math.max(0, wanted));
    at.set(key(slideshow), now);
    scenes.forEach((scene, place) => scene.classList.toggle("shown", place === now));
    slideshow.querySelectorAll(".rail li").forEach((mark, place) => {
      mark.classList.toggle("past", place < now);
      mark.classList.toggle("now", place === now);
    });
    slideshow.querySelector(".place").textContent = `${now + 1} of ${scenes.length}`;
    const heading = scenes[now].querySelector("h2");
    slideshow.querySelector(".unseen").textContent = heading ? heading.textContent : "";
    for (const [name, off] of [["back", now === 0], ["on", now === scenes.length - 1]]) {
      const button = slideshow.querySelector(`[data-step=${name}]`);
      if (off && document.activeElement === button) slideshow.focus({ preventScroll: true });
      button.disabled = off;
    }
    slideshow.setAttribute("data-at", String(now));
    if (inApp(slideshow)) history.replaceState(history.state, "", `#${now + 1}`);
  };
  const step = (slideshow, by) => show(slideshow, (at.get(key(slideshow)) || 0) + by);
  const fill = () => (whole() ? document.exitFullscreen() : document.documentElement.requestFullscreen()).catch(() => {});
  const close = (slideshow) => {
    if (whole()) fill();
    if (inApp(slideshow)) return slideshow.querySelector("[data-step=close]").click();
    slideshow.hidden = true;
    if (opener) opener.focus();
  };
  const begin = (slideshow) => {
    if (slideshow.hasAttribute("data-started")) return;
    slideshow.setAttribute("data-started", "");
    const asked = inApp(slideshow) ? Number(location.hash.slice(1)) - 1 : 0;
    show(slideshow, at.has(key(slideshow)) ? at.get(key(slideshow)) : asked > 0 ? asked : 0);
    slideshow.querySelector("[data-step=fill]").hidden = !document.fullscreenEnabled;
    slideshow.focus({ preventScroll: true });
  };

  const STEPS = { ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1 };
  document.addEventListener("keydown", (event) => {
    const slideshow = shown();
    if (!slideshow || event.ctrlKey || event.metaKey || event.altKey) return;
    const scene = slideshow.querySelector(".scene.shown");
    const tall = scene && scene.scrollHeight > scene.clientHeight + 4;
    if (event.key === " " && event.target.closest && event.target.closest("button")) return;
    if (tall && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      scene.scrollBy(0, event.key === "ArrowDown" ? 120 : -120);
    } else if (event.key in STEPS) step(slideshow, event.key === " " && event.shiftKey ? -1 : STEPS[event.key]);
    else if (event.key === "Home") show(slideshow, 0);
    else if (event.key === "End") show(slideshow, Infinity);
    else if (event.key === "f" && document.fullscreenEnabled) fill();
    else if (event.key === "Escape" && !whole()) close(slideshow);
    else if (event.key === "Tab") return turn(slideshow, event);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }, true);
  // What lies under the slideshow is not to be reached with Tab.
  const turn = (slideshow, event) => {
    const stops = [...slideshow.querySelectorAll("button:not(:disabled):not([hidden])")];
    const here = stops.indexOf(document.activeElement), next = here + (event.shiftKey ? -1 : 1);
    if (!stops.length) return;
    event.preventDefault();
    stops[(next + stops.length) % stops.length].focus();
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("[data-step], [data-present]");
    if (!button) return;
    if (button.hasAttribute("data-present")) {
      const slideshow = document.querySelector(`.slideshow[data-slideshow="${CSS.escape(button.getAttribute("data-present"))}"]`);
      if (!slideshow) return;
      opener = button;
      slideshow.hidden = false;
      slideshow.removeAttribute("data-started");
      at.delete(key(slideshow));
      return begin(slideshow);
    }
    const slideshow = button.closest(".slideshow"), what = button.getAttribute("data-step");
    if (what === "back") step(slideshow, -1);
    else if (what === "on") step(slideshow, 1);
    else if (what === "fill") fill();
    else if (what === "close" && !inApp(slideshow)) close(slideshow);
  });
  const look = () => {
    document.querySelectorAll(".slideshow:not([hidden]):not([data-started])").forEach(begin);
    if (!at.size || document.querySelector(".slideshow")) return;
    at.clear(); // the app has left it: the next one begins at its beginning
    history.replaceState(history.state, "", location.pathname + location.search);
  };
  document.querySelectorAll("[data-present]").forEach((button) => (button.hidden = false));
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
  look();
})();
