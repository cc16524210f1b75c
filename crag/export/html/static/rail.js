// Draws rails and lets its two lines be dragged. What a place of the lines comes to stands in tables that the engine
// made: nothing is decided here. A line that is let go is told to the script until the script stands where it does.
const SVG = "http://www.w3.org/2000/svg";
const STILL = 400; // milliseconds after the last key until the script is told
const FLIGHT = 600; // milliseconds in which all dots of a run that came at once arrive
const DOT = 11, ROOM = 20; // pixels: a dot's width, and how far from the middle it may stand
const ENDS = { Home: -100, End: 100, PageDown: -10, PageUp: 10, ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 };
const NAMES = { lower: "too little", upper: "enough" };
const TRACK = { documents: "your documents", decide: "decide", pick: "pick sentences", web: "", answer: "answer" };
const rails = {};

const make = (parent, tag, looks, text = "", given = {}) => {
  const element = parent.appendChild(document.createElement(tag));
  element.className = looks;
  element.textContent = text;
  Object.entries(given).forEach(([name, value]) => element.setAttribute(name, value));
  return element;
};
const shown = (hundredths) => (hundredths / 100).toFixed(2);
const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
const place = (starts, line) => starts.findLastIndex((start) => start <= line);
const zone = (score, lower, upper) => (score * 100 >= upper ? "CORRECT" : score * 100 >= lower ? "AMBIGUOUS" : "INCORRECT");

class Rail {
  constructor() {
    this.box = make(new DocumentFragment(), "div", "cx rail", "", { role: "group", "aria-label": "Relevance from 0 to 1" });
    this.turn = this.tries = 0;
    this.points = new Map();
    this.axis = make(make(this.box, "div", "scale"), "div", "axis");
    this.zones = ["INCORRECT", "AMBIGUOUS", "CORRECT"].map((action) => [action, make(this.axis, "div", `zone ${action.toLowerCase()}`)]);
    this.zones.forEach(([, part]) => ["verdict-word", "leads"].forEach((word) => make(part, "span", word)));
    this.doubt = make(this.axis, "div", "doubt");
    this.field = make(this.axis, "div", "field", "", { "aria-hidden": "true" });
    this.label = make(this.axis, "span", "label", "", { "aria-hidden": "true" });
    this.lines = Object.fromEntries(["lower", "upper"].map((which) => [which, this.line(which)]));
    this.box.append(this.track());
    this.says = make(this.box, "p", "says", "", { role: "status" });
    new ResizeObserver(() => this.data && this.draw(true)).observe(this.axis);
  }

  line(which) {
    const line = make(this.axis, "div", `line ${which}`, "", { role: "slider", tabindex: 0, "aria-orientation": "horizontal" });
    make(line, "i", "");
    make(this.axis, "span", `name ${which}`, "", { "aria-hidden": "true" });
    line.addEventListener("pointerdown", (event) => this.grasp(event, which));
    line.addEventListener("pointermove", (event) => this.pull(event));
    ["pointerup", "pointercancel"].forEach((kind) => line.addEventListener(kind, () => this.release()));
    line.addEventListener("keydown", (event) => this.step(event, which));
    line.addEventListener("blur", () => this.waiting && this.tell());
    return line;
  }

  track() {
    const track = document.createElement("div");
    track.className = "track";
    track.setAttribute("aria-hidden", "true");
    const picture = track.appendChild(document.createElementNS(SVG, "svg"));
    picture.setAttribute("viewBox", "0 0 100 56");
    picture.setAttribute("preserveAspectRatio", "none");
    const routes = { start: "M0 16H24", web: "M24 16C34 16 32 46 42 46H58C68 46 70 30 82 30", documents: "M24 16H54C66 16 70 30 82 30", end: "M82 30H90" };
    Object.entries(routes).forEach(([name, route]) => {
      const path = picture.appendChild(document.createElementNS(SVG, "path"));
      path.setAttribute("d", route);
      path.setAttribute("class", name);
    });
    ["decide", "answer"].forEach((name) => make(track, "i", `at-${name}`));
    this.words = Object.fromEntries(Object.entries(TRACK).map(([name, said]) => [name, make(track, "span", `word at-${name}`, said)]));
    return track;
  }

  // What the script says. A line in hand stays there, and one just let go until the script has heard of it.
  update(data, send) {
    const early = data.live && !data.points.some((point) => !point.kind) && this.points.size > 0;
    [this.data, this.send] = [early ? { ...data, outcomes: this.data.outcomes } : data, send];
    this.turn += 1;
    const same = this.run === data.run;
    const heard = this.told && this.told[1] === data.lower && this.told[2] === data.upper;
    if (!same || heard || this.tries > 4) this.told = null;
    if (!same) this.waiting = clearTimeout(this.waiting);
    this.run = data.run;
    if (this.told) this.retell();
    else if (!this.held && !this.waiting) [this.lower, this.upper] = [data.lower, data.upper];
    this.zones.forEach(([action, part]) => data.zones[action].forEach((said, at) => (part.children[at].textContent = said)));
    this.words.web.textContent = data.web;
    this.box.classList.toggle("one", data.binary);
    this.box.toggleAttribute("data-routed", Boolean(data.run));
    this.field.classList.toggle("before", early);
    if (!early) this.arrive();
    this.draw(true);
  }

  // The dots of the run before stay until the first of this one is there.
  arrive() {
    const { points, live } = this.data;
    const known = new Map(), fresh = points.filter((point) => !this.points.has(point.id)).length;
    let count = 0;
    points.forEach((point) => {
      const dot = this.points.get(point.id) || make(this.field, "i", "");
      if (!this.points.has(point.id) && live) dot.style.animationDelay = `${(FLIGHT / 2 / fresh) * count++}ms`;
      if (point.pick) dot.setAttribute("data-pick", point.pick);
      known.set(point.id, Object.assign(dot, { point }));
    });
    this.points.forEach((dot, id) => known.has(id) || dot.remove());
    this.points = known;
  }

  // What a point comes to where the lines stand: null where it has no table, and stands by its score alone.
  outcome(point) {
    const { outcomes, lower, upper } = this.data;
    if (!point.table) return null;
    if (point.here !== undefined && this.lower === lower && this.upper === upper) return outcomes[point.here];
    const [lowers, uppers, cells] = point.table;
    return outcomes[cells[place(lowers, this.lower)][place(uppers, this.upper)]] || null;
  }

  draw(afresh) {
    const { lower, upper, data } = this;
    this.box.style.setProperty("--lower", lower / 100);
    this.box.style.setProperty("--upper", upper / 100);
    this.doubt.style.width = `${Math.min(data.doubt, lower)}%`;
    const tally = { above: 0, below: 0, changed: 0, unknown: 0, all: 0, ways: {} };
    let mark = null;
    this.points.forEach((dot) => {
      const { point } = dot, found = this.outcome(point), score = (found || point).score ?? null;
      const at = score === null ? "" : zone(score, lower, upper), action = found ? found.action : at, many = point.count || 1;
      if (point.kind === "mark" && found) mark = { ...point, ...found, again: !action || action !== point.was || found.round !== point.round };
      else if (point.kind !== "earlier") {
        tally.above += many * (at === "CORRECT");
        tally.below += many * (at === "INCORRECT");
        tally.all += many;
        tally.unknown += many * (action === null);
      }
      if (!data.run && point.was && action && action !== point.was) {
        tally.changed += many;
        const way = `${data.verdicts[point.was]} → ${data.verdicts[action]}`;
        tally.ways[way] = (tally.ways[way] || 0) + many;
      }
      const looks = [point.kind || "dot", (action || "unknown").toLowerCase(), point.deciding && "deciding", action && at && action !== at && "otherwise"];
      dot.className = looks.filter(Boolean).join(" ");
      dot.hidden = score === null;
      if (score !== null) dot.style.left = `${score * 100}%`;
      dot.title = [point.title, score !== null && shown(score * 100), found && found.note].filter(Boolean).join(" · ");
      if (point.kind === "mark") this.label.textContent = score === null ? "" : `${point.title} ${shown(score * 100)}`;
      if (point.kind === "mark") this.box.style.setProperty("--mark", score || 0);
    });
    if (!mark) this.label.textContent = "";
    if (afresh) this.stack();
    this.speak(mark, tally);
  }

  // Dots that would cover one another stand one above the other, as far as there is room.
  stack() {
    const width = this.axis.clientWidth, put = [];
    this.points.forEach((dot) => {
      const { point } = dot;
      if (dot.hidden || point.kind) return;
      const size = Math.min(26, DOT + 3 * Math.sqrt((point.count || 1) - 1)), x = (parseFloat(dot.style.left) * width) / 100;
      const clear = (y) => put.every((other) => Math.hypot(other.x - x, other.y - y) >= (other.size + size) / 2 - 1);
      const heights = [...Array(9).keys()].map((step) => (step % 2 ? -1 : 1) * Math.ceil(step / 2) * (ROOM / 4));
      const y = heights.find(clear) ?? heights[put.length % 9];
      put.push({ x, y, size });
      Object.assign(dot.style, { width: `${size}px`, height: `${size}px`, marginTop: `${y - size / 2}px`, marginLeft: `${-size / 2}px` });
    });
  }

  speak(mark, tally) {
    const { data, lower, upper } = this, moved = lower !== data.start[0] || upper !== data.start[1];
    const route = mark ? mark.route : "";
    this.box.setAttribute("data-route", route);
    this.words.answer.textContent = route === "nothing" ? "no answer" : TRACK.answer;
    const ways = Object.entries(tally.ways).map(([way, number]) => `${number.toLocaleString("en")} ${way}`).join(", ");
    const flips = `${tally.changed ? tally.changed.toLocaleString("en") : "None"} of ${counted(tally.all, data.unit)} would change${ways && `: ${ways}`}.`;
    const open = tally.unknown ? ` For ${tally.unknown.toLocaleString("en")} only a new run can tell.` : "";
    const to = mark && mark.action && `${data.verdicts[mark.action]} (${mark.action})`;
    const would = to && (mark.again ? `From ${data.verdicts[mark.was]} to ${to}: the question would be asked again.` : `Still ${to}: the answer stays.`);
    const said = mark ? [moved && would, mark.note].filter(Boolean).join(" ") : !data.run ? flips + open : "";
    this.says.textContent = said || data.hint;
    this.says.classList.toggle("quiet", !said);
    const decided = mark ? `, decision ${mark.action || "unknown"}` : !data.run ? `, ${tally.changed} change` : "";
    [["lower", lower, tally.below, "below", 0, upper], ["upper", upper, tally.above, "above", lower, 100]].forEach(([which, value, number, where, least, most]) => {
      const name = NAMES[which], line = this.lines[which], [from, to] = data.binary ? [0, 100] : [least, most];
      line.nextSibling.textContent = `${name} ${shown(value)}`;
      const spoken = `${name} line ${shown(value)}: ${counted(number, data.unit)} ${where}${decided}`;
      const told = { "aria-label": `${name} line`, "aria-valuemin": from / 100, "aria-valuemax": to / 100, "aria-valuenow": value / 100, "aria-valuetext": spoken[0].toUpperCase() + spoken.slice(1) };
      Object.entries(told).forEach(([attribute, value]) => line.setAttribute(attribute, value));
    });
    (this.box.closest(".run") || document.documentElement).toggleAttribute("data-asked-again", Boolean(moved && mark && mark.again));
  }

  // Where both lines stand at one place, the first pull says which is meant.
  grasp(event, which) {
    if (event.button) return;
    const near = (Math.abs(this.upper - this.lower) / 100) * this.axis.clientWidth < 14 && !this.data.binary;
    this.held = { which: near ? null : which, x: event.clientX, from: this[which] };
    event.currentTarget.setPointerCapture(event.pointerId);
    event.currentTarget.focus({ preventScroll: true });
    event.preventDefault();
  }

  pull(event) {
    if (!this.held) return;
    const far = event.clientX - this.held.x;
    if (!this.held.which && Math.abs(far) < 2) return;
    if (!this.held.which) Object.assign(this.held, { which: far < 0 ? "lower" : "upper", from: far < 0 ? this.lower : this.upper });
    this.put(this.held.which, Math.round(this.held.from + (100 * far) / this.axis.clientWidth));
  }

  release() {
    const held = this.held;
    this.held = null;
    if (held && held.which && this[held.which] !== held.from) this.tell();
  }

  step(event, which) {
    if (!(event.key in ENDS) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    this.put(which, Math.round(this[which] + ENDS[event.key]));
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.tell(), STILL);
  }

  put(which, to) {
    const [least, most] = this.data.binary ? [0, 100] : which === "lower" ? [0, this.upper] : [this.lower, 100];
    this[which] = Math.min(most, Math.max(least, to));
    if (this.data.binary) this.lower = this.upper = this[which];
    this.draw(false);
  }

  tell() {
    this.waiting = clearTimeout(this.waiting);
    this.told = [this.run, this.lower, this.upper];
    this.tries = 0;
    this.retell();
  }

  retell() {
    this.tries += 1;
    this.send(this.told);
  }
}

// An exported page says once what its rails are drawn from; there they stay as a hand leaves them.
document.querySelectorAll("script.railed").forEach((given) => {
  const rail = new Rail();
  given.after(rail.box);
  rail.update(JSON.parse(given.textContent), () => (rail.told = null));
});

// In the app: called with every run of the script. Where its place is drawn anew, a page's rail goes there as it is.
export default function ({ data, parentElement, setTriggerValue }) {
  const rail = (rails[data.run ? "run" : "runs"] ||= new Rail());
  const elsewhere = rail.box.parentNode !== parentElement;
  if (elsewhere) parentElement.append(rail.box);
  rail.update(data, (lines) => setTriggerValue("moved", lines));
  if (elsewhere) rail.release();
  const { turn } = rail;
  return () => {
    if (rail.turn === turn) document.documentElement.removeAttribute("data-asked-again");
  };
}
