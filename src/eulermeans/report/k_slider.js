// The slider over K: the same rows in the plane, colored by the clusters of each K of the sweep.
if (data.choices) {
  const slider = document.getElementById("k-slider"), svg = document.getElementById("k-plane");
  const list = document.getElementById("k-clusters"), title = document.getElementById("k-title");
  const rows = document.querySelectorAll("#k-table tbody tr");
  const dots = data.rows.labels.map((_, row) =>
    svgElement("circle", { cx: data.rows.places[2 * row], cy: data.rows.places[2 * row + 1], r: 1.7, "fill-opacity": 0.75 }));
  const centers = svgElement("g", {});
  svg.append(...dots, centers);
  const alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (const each of data.choices) each.labels = [...each.labels].map((letter) => alphabet.indexOf(letter));
  let choice = data.choices[0];
  const show = () => {
    choice = data.choices[Number(slider.value)];
    title.textContent = `K = ${choice.k}${choice.k === data.k ? " (this report)" : ""}`;
    slider.setAttribute("aria-valuetext", title.textContent);
    dots.forEach((dot, row) => dot.setAttribute("fill", choice.colors[choice.labels[row]]));
    centers.replaceChildren(...choice.colors.flatMap((color, cluster) => {
      const [x, y] = choice.discs.slice(2 * cluster, 2 * cluster + 2);
      const [x1, y1] = choice.centers.slice(2 * cluster, 2 * cluster + 2);
      const number = svgElement("text", { x, y, "text-anchor": "middle", "dominant-baseline": "central", "font-size": 8 });
      number.textContent = cluster;
      const line = svgElement("line", { x1, y1, x2: x, y2: y, class: "to-center" });
      return [line, svgElement("circle", { cx: x, cy: y, r: 6.5, fill: "#fff", stroke: color, "stroke-width": 1.8 }), number];
    }));
    const order = choice.shares.map((_, cluster) => cluster).sort((a, b) => choice.shares[b] - choice.shares[a]);
    list.replaceChildren(...order.map((cluster) => {
      const item = element("li"), dot = element("i");
      dot.style.setProperty("--c", choice.colors[cluster]);
      const percent = 100 * choice.shares[cluster], share = `${percent.toFixed(percent < 10 ? 1 : 0)}%`;
      item.append(dot, element("b", cluster), element("span", share, "share"), element("span", choice.sentences[cluster]));
      return item;
    }));
    for (const row of rows) row.classList.toggle("chosen", Number(row.dataset.k) === choice.k);
  };
  slider.max = data.choices.length - 1;
  slider.value = Math.max(0, data.choices.findIndex(({ k }) => k === data.k));
  slider.addEventListener("input", show);
  show();
  watchRows(svg, (row) => [choice.labels[row], choice.sentences[choice.labels[row]]]);
}
