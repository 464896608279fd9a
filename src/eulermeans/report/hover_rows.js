// Shows the row under the pointer: its id, its cluster and its values. All text from the data is set as text.
const data = JSON.parse(document.getElementById("page-data").textContent);
const svgElement = (name, attributes) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};
const element = (name, text, className) => {
  const made = document.createElement(name);
  made.textContent = text ?? "";
  if (className) made.className = className;
  return made;
};
const tip = document.body.appendChild(element("div", "", "tip"));
tip.hidden = true;
tip.setAttribute("role", "status");

const pixels = data.rows.images ? Uint8Array.from(atob(data.rows.images.pixels), (c) => c.charCodeAt(0)) : null;
const drawImage = (place) => {
  const { height, width, channels } = data.rows.images, canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d"), image = context.createImageData(width, height);
  for (let i = 0; i < width * height; i++) {
    const first = (place * width * height + i) * channels;
    for (let channel = 0; channel < 3; channel++) image.data[4 * i + channel] = pixels[first + (channels === 1 ? 0 : channel)];
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  return canvas;
};

const showTip = (row, cluster, sentence, event) => {
  const heading = element("b", `${data.rows.ids[row]} · cluster ${cluster}`);
  tip.replaceChildren(heading, element("div", sentence, "quiet"));
  if (data.rows.values) {
    const table = element("table");
    for (const [column, name] of data.rows.names.entries()) {
      const line = table.insertRow(), value = data.rows.values[row][column];
      line.append(element("td", name), element("td", value === null ? "–" : value.toLocaleString("en"), "n"));
    }
    tip.append(table);
  } else if (data.rows.images.rows.includes(row)) {
    tip.append(drawImage(data.rows.images.rows.indexOf(row)));
  }
  tip.hidden = false;
  const box = tip.getBoundingClientRect(), gap = 14;
  const left = event.clientX + gap + box.width < innerWidth ? event.clientX + gap : event.clientX - gap - box.width;
  const top = Math.min(event.clientY + gap, innerHeight - box.height - 4);
  tip.style.left = `${Math.max(4, Math.min(left, innerWidth - box.width - 4))}px`;
  tip.style.top = `${Math.max(4, top)}px`;
};

// `svg` has the coordinates of `data.rows.places`; `clusterOf(row)` gives the row's number and sentence.
const watchRows = (svg, clusterOf) => {
  const ring = svgElement("circle", { r: 5, class: "ring", visibility: "hidden" });
  svg.append(ring);
  const hide = () => { tip.hidden = true; ring.setAttribute("visibility", "hidden"); };
  const images = data.rows.images && new Set(data.rows.images.rows);
  const find = (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    let nearest = -1, least = 10 ** 2; // squared distance in the coordinates of the picture
    for (let row = 0; row < data.rows.labels.length; row++) {
      if (images && !images.has(row)) continue;
      const squared = (data.rows.places[2 * row] - at.x) ** 2 + (data.rows.places[2 * row + 1] - at.y) ** 2;
      if (squared < least) [nearest, least] = [row, squared];
    }
    if (nearest < 0) return hide();
    ring.setAttribute("cx", data.rows.places[2 * nearest]);
    ring.setAttribute("cy", data.rows.places[2 * nearest + 1]);
    ring.setAttribute("visibility", "visible");
    const [cluster, sentence] = clusterOf(nearest);
    showTip(nearest, cluster, sentence, event);
  };
  svg.addEventListener("pointermove", find);
  svg.addEventListener("pointerdown", find);
  svg.addEventListener("pointerleave", hide);
  addEventListener("scroll", hide, { passive: true });
};
const sentences = new Map([...document.querySelectorAll(".clusters tbody tr")].map(
  (row) => [Number(row.cells[0].dataset.value), row.querySelector(".words").textContent]));
watchRows(document.querySelector("#figure-plane svg"), (row) => [data.rows.labels[row], sentences.get(data.rows.labels[row]) ?? ""]);
for (const hint of document.querySelectorAll(".needs-script")) hint.hidden = false;
