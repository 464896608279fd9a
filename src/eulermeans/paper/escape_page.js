// Plays the frames. Without this script the page shows where EM is stuck and where SBE ends.
const data = JSON.parse(document.getElementById("data").textContent);
const at = (id) => document.getElementById(id);
const shape = (name, attributes) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};
const colors = { EM: at("em").getAttribute("stroke"), SBE: at("sbe").getAttribute("stroke") };
const points = (from, to) => data.curve.slice(from, to).map((place) => place.join(",")).join(" ");
const show = (number) => {
  const frame = data.frames[number];
  at("caption").textContent = frame.caption;
  at("centers").replaceChildren(...frame.centers.map(([x, y]) =>
    shape("circle", { class: "center", cx: x, cy: y, r: frame.method === "EM" ? 6 : 7.5, fill: colors[frame.method] })));
  const paths = frame.inner.length === 0 ? [] : frame.centers.map((center, cluster) => shape("polyline", {
    points: [center, ...frame.inner.map((iterate) => iterate[cluster])].join(" "), fill: "none", stroke: colors.SBE, "stroke-opacity": 0.7 }));
  const dots = frame.inner.flat().map(([x, y]) => shape("circle", { cx: x, cy: y, r: 2.6, fill: colors.SBE, "fill-opacity": 0.8 }));
  at("inner").replaceChildren(...paths, ...dots);
  at("em").setAttribute("points", points(0, Math.min(frame.n, data.nEm)));
  at("sbe").setAttribute("points", frame.method === "SBE" ? points(data.nEm - 1, frame.n) : "");
  at("time").value = number;
};
let playing = !matchMedia("(prefers-reduced-motion: reduce)").matches;
const label = () => { at("play").textContent = playing ? "Pause" : "Play"; };
at("time").max = data.frames.length - 1;
at("time").addEventListener("input", () => { playing = false; label(); show(Number(at("time").value)); });
at("play").addEventListener("click", () => { playing = !playing; label(); });
at("controls").hidden = false;
label();
if (playing) show(0);
setInterval(() => { if (playing) show((Number(at("time").value) + 1) % data.frames.length); }, 125);
