// Replays exported runs from their pre-drawn states: play, pause, step, a slider each. It loads and sends nothing.
(() => {
  const replay = (run) => {
    const { pieces, frames } = JSON.parse(run.querySelector(".states").textContent);
    const part = (name) => run.querySelector(`.replay .${name}`);
    const slider = part("at"), play = part("play"), label = part("label");
    const sections = [...run.querySelectorAll("[data-part]")];
    const last = frames.length - 1;
    const opened = new Map();
    let now = last, timer = 0;

    // A section is renewed only where it differs; what a person has opened stays open.
    const show = (wanted) => {
      const frame = frames[wanted], shown = frames[now];
      frame.parts.forEach((ids, place) => {
        if (wanted !== now && ids.join() === shown.parts[place].join()) return;
        const section = sections[place];
        section.innerHTML = ids.map((id) => pieces[id]).join("");
        section.querySelectorAll("details[data-keep]").forEach((item) => {
          item.open = opened.get(item.dataset.keep) === true;
        });
      });
      now = wanted;
      slider.value = String(now);
      slider.setAttribute("aria-valuetext", frame.said);
      label.textContent = `${now + 1} of ${frames.length} · ${frame.at.toFixed(2)} s · ${frame.said}`;
      part("back").disabled = now === 0;
      part("step").disabled = now === last;
      run.dataset.state = timer ? "playing" : now === last ? "end" : "paused";
    };
    const pause = () => {
      window.clearTimeout(timer);
      timer = 0;
      play.textContent = now === last ? "Replay" : "Play";
      run.dataset.state = now === last ? "end" : "paused";
    };
    const to = (wanted) => {
      pause();
      show(Math.min(last, Math.max(0, wanted)));
      pause();
    };
    // As long as it took, but nothing flashes by and nothing keeps a person waiting.
    const wait = () => Math.min(900, Math.max(120, 1000 * (frames[now + 1].at - frames[now].at)));
    const advance = () => {
      show(now + 1);
      if (now === last) pause();
      else timer = window.setTimeout(advance, wait());
    };
    play.addEventListener("click", () => {
      if (timer) return pause();
      if (now === last) show(0);
      play.textContent = "Pause";
      timer = window.setTimeout(advance, last ? wait() : 0);
      run.dataset.state = "playing";
    });
    part("back").addEventListener("click", () => to(now - 1));
    part("step").addEventListener("click", () => to(now + 1));
    slider.addEventListener("input", () => to(Number(slider.value)));
    run.addEventListener("toggle", (event) => {
      const id = event.target.dataset && event.target.dataset.keep;
      if (id) opened.set(id, event.target.open);
    }, true);

    // A number in the answer leads to its source beneath it.
    run.addEventListener("click", (event) => {
      const cited = event.target.closest("button.cite");
      const source = cited && run.querySelector(`.sources [data-pick="${cited.getAttribute("data-pick")}"]`);
      if (source) source.focus();
    });

    run.querySelector(".replay").hidden = false;
    if (last < 1) return ["play", "back", "step", "at"].forEach((name) => (part(name).hidden = true));
    slider.max = String(last);
    to(last);
  };
  // One after another as they come to be read: a conversation may hold many.
  const near = new IntersectionObserver((seen) => seen.filter((each) => each.isIntersecting).forEach((each) => {
    near.unobserve(each.target);
    replay(each.target);
  }), { rootMargin: "800px" });
  const runs = [...document.querySelectorAll(".run")].filter((run) => run.querySelector(".states"));
  if (runs.length === 1) replay(runs[0]);
  else runs.forEach((run) => near.observe(run));
})();
