// Steps through a run that is drawn as scenes (.deck): arrow keys, the keys of a clicker, buttons; the whole screen where
// the browser has one. It reads and builds nothing, and asks for nothing. The app and exported pages share it.
(() => {
  if (document.documentElement.hasAttribute("data-presents")) return;
  document.documentElement.setAttribute("data-presents", "");
  const at = new Map();
  let opener = null;

  const shown = () => [...document.querySelectorAll(".deck")].find((deck) => !deck.hidden);
  const key = (deck) => deck.getAttribute("data-deck");
  const inApp = (deck) => deck.classList.contains("app");
  const whole = () => document.fullscreenElement !== null;

  const show = (deck, wanted) => {
    const scenes = [...deck.querySelectorAll(".scene")];
    const now = Math.min(scenes.length - 1, Math.max(0, wanted));
    at.set(key(deck), now);
    scenes.forEach((scene, place) => scene.classList.toggle("shown", place === now));
    deck.querySelectorAll(".rail li").forEach((mark, place) => {
      mark.classList.toggle("past", place < now);
      mark.classList.toggle("now", place === now);
    });
    deck.querySelector(".place").textContent = `${now + 1} of ${scenes.length}`;
    const heading = scenes[now].querySelector("h2");
    deck.querySelector(".unseen").textContent = heading ? heading.textContent : "";
    for (const [name, off] of [["back", now === 0], ["on", now === scenes.length - 1]]) {
      const button = deck.querySelector(`[data-step=${name}]`);
      if (off && document.activeElement === button) deck.focus({ preventScroll: true });
      button.disabled = off;
    }
    deck.setAttribute("data-at", String(now));
    if (inApp(deck)) history.replaceState(history.state, "", `#${now + 1}`);
  };
  const step = (deck, by) => show(deck, (at.get(key(deck)) || 0) + by);
  const fill = () => (whole() ? document.exitFullscreen() : document.documentElement.requestFullscreen()).catch(() => {});
  const close = (deck) => {
    if (whole()) fill();
    if (inApp(deck)) return deck.querySelector("[data-step=close]").click();
    deck.hidden = true;
    if (opener) opener.focus();
  };
  const begin = (deck) => {
    if (deck.hasAttribute("data-begun")) return;
    deck.setAttribute("data-begun", "");
    const told = inApp(deck) ? Number(location.hash.slice(1)) - 1 : 0;
    show(deck, at.has(key(deck)) ? at.get(key(deck)) : told > 0 ? told : 0);
    deck.querySelector("[data-step=fill]").hidden = !document.fullscreenEnabled;
    deck.focus({ preventScroll: true });
  };

  const STEPS = { ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1 };
  document.addEventListener("keydown", (event) => {
    const deck = shown();
    if (!deck || event.ctrlKey || event.metaKey || event.altKey) return;
    const scene = deck.querySelector(".scene.shown");
    const tall = scene && scene.scrollHeight > scene.clientHeight + 4;
    if (event.key === " " && event.target.closest && event.target.closest("button")) return;
    if (tall && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      scene.scrollBy(0, event.key === "ArrowDown" ? 120 : -120);
    } else if (event.key in STEPS) step(deck, event.key === " " && event.shiftKey ? -1 : STEPS[event.key]);
    else if (event.key === "Home") show(deck, 0);
    else if (event.key === "End") show(deck, Infinity);
    else if (event.key === "f" && document.fullscreenEnabled) fill();
    else if (event.key === "Escape" && !whole()) close(deck);
    else if (event.key === "Tab") return turn(deck, event);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }, true);
  // What lies under the deck is not to be reached with Tab.
  const turn = (deck, event) => {
    const stops = [...deck.querySelectorAll("button:not(:disabled):not([hidden])")];
    const here = stops.indexOf(document.activeElement), next = here + (event.shiftKey ? -1 : 1);
    if (!stops.length) return;
    event.preventDefault();
    stops[(next + stops.length) % stops.length].focus();
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("[data-step], [data-present]");
    if (!button) return;
    if (button.hasAttribute("data-present")) {
      const deck = document.querySelector(`.deck[data-deck="${CSS.escape(button.getAttribute("data-present"))}"]`);
      if (!deck) return;
      opener = button;
      deck.hidden = false;
      deck.removeAttribute("data-begun");
      at.delete(key(deck));
      return begin(deck);
    }
    const deck = button.closest(".deck"), what = button.getAttribute("data-step");
    if (what === "back") step(deck, -1);
    else if (what === "on") step(deck, 1);
    else if (what === "fill") fill();
    else if (what === "close" && !inApp(deck)) close(deck);
  });
  const look = () => {
    document.querySelectorAll(".deck:not([hidden]):not([data-begun])").forEach(begin);
    if (!at.size || document.querySelector(".deck")) return;
    at.clear(); // the app has left it: the next one begins at its beginning
    history.replaceState(history.state, "", location.pathname + location.search);
  };
  document.querySelectorAll("[data-present]").forEach((button) => (button.hidden = false));
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
  look();
})();
