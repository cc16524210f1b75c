// Replays an exported run from its pre-drawn states: play, pause, step, a slider. It loads and sends nothing.
(() => {
  const replay = (run) => {
    const { pieces, frames } = JSON.parse(run.querySelector(".states").textContent);
    const part = (name) => run.querySelector(`.replay .${name}`);
    const slider = part("at"), sections = [...run.querySelectorAll("[data-part]")];
    const last = frames.length - 1, opened = new Map();
    let now = last, timer = 0;

    // A section is renewed only where it differs; what a person has opened stays open.
    const show = (wanted) => {
      const frame = frames[wanted];
      frame.parts.forEach((ids, place) => {
        if (wanted !== now && ids.join() === frames[now].parts[place].join()) return;
        sections[place].innerHTML = ids.map((id) => pieces[id]).join("");
        sections[place].querySelectorAll("details[data-keep]").forEach((item) => {
          item.open = opened.get(item.dataset.keep) === true;
        });
      });
      now = wanted;
      slider.value = String(now);
      slider.setAttribute("aria-valuetext", frame.said);
      part("label").textContent = `${now + 1} of ${frames.length} · ${frame.at.toFixed(2)} s · ${frame.said}`;
      part("back").disabled = now === 0;
      part("step").disabled = now === last;
      part("play").textContent = timer ? "Pause" : now === last ? "Replay" : "Play";
      run.dataset.state = timer ? "playing" : now === last ? "end" : "paused";
    };
    const to = (wanted) => {
      timer = window.clearTimeout(timer) || 0;
      show(Math.min(last, Math.max(0, wanted)));
    };
    // As long as it took, but nothing flashes by and nothing keeps a person waiting.
    const play = (wanted) => {
      if (wanted === last) return to(last);
      const took = 1000 * (frames[wanted + 1].at - frames[wanted].at);
      timer = window.setTimeout(() => play(now + 1), Math.min(900, Math.max(120, took)));
      show(wanted);
    };
    part("play").addEventListener("click", () => (timer ? to(now) : play(now === last ? 0 : now)));
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
      // A dot of the rail leads to its passage.
      const dot = event.target.closest(".dot[data-pick]"), id = dot && CSS.escape(dot.dataset.pick.replace("chunk:", ""));
      const card = dot && run.querySelector(`details[data-keep="${id}"]`);
      for (let around = card; around; around = around.parentElement.closest("details")) around.open = true;
      if (card) card.scrollIntoView({ block: "center" });
    });

    run.querySelector(".replay").hidden = false;
    if (last < 1) return ["play", "back", "step", "at"].forEach((name) => (part(name).hidden = true));
    slider.max = String(last);
    to(last);
  };
  const run = document.querySelector(".run");
  if (run) replay(run);
})();
