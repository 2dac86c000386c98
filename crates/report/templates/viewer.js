{
  const find = (id) => document.getElementById(id);
  const shown = () => document.querySelector("input[name=show]:checked");
  const show = (value) => {
    const input = find("show-" + value);
    if (!input) return;
    input.checked = true;
    find("shown").textContent = "Showing " + input.parentElement.firstChild.nextSibling.textContent.trim();
  };
  const between = (one, other) => show(shown().value === one ? other : one);
  let last = "after";
  const flip = () => {
    if (shown().value !== "fixed") last = shown().value;
    between("fixed", last === "fixed" ? "after" : last);
  };
  let timer = null;
  const alternate = () => {
    const button = find("alternate");
    if (timer) clearInterval(timer);
    timer = timer ? null : setInterval(flip, 500);
    button.setAttribute("aria-pressed", String(timer !== null));
  };
  const toggle = (id) => { if (find(id)) find(id).checked = !find(id).checked; };
  const keys = {
    a: () => show("after"), f: flip, b: () => between("before", "after"), c: () => show("checker"), j: () => show("stretch"),
    g: () => show("lattice"), o: () => toggle("draw-fixed"), p: () => toggle("draw-after"), m: () => toggle("draw-labels"), l: () => toggle("large"), " ": alternate,
  };
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("input[type=text],textarea,select,button,summary") || (event.key === " " && event.target.matches("input[type=checkbox]"));
    const act = keys[event.key.toLowerCase()];
    if (!act || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  find("alternate").addEventListener("click", alternate);
  for (const tile of document.querySelectorAll(".tile")) tile.addEventListener("click", flip);
}
