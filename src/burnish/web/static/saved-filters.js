// Filters under a name: the query of the URL, for the board and the list of each project.
import { make, sure, toast } from "./burnish.js";
import { preference, setPreference } from "./preferences.js";

const select = document.getElementById("saved-filters");
const read = () => JSON.parse(preference("filters") || "{}");
const write = (filters) => setPreference("filters", JSON.stringify(filters));
const query = () => {
  const found = new URLSearchParams(location.search);
  found.sort();
  return found.toString();
};

function draw() {
  const filters = Object.entries(read()).sort(([one], [other]) => one.localeCompare(other));
  const now = query();
  select.replaceChildren(
    new Option("Saved filters", ""),
    ...filters.map(([name, saved]) => new Option(name, saved, false, Boolean(now) && saved === now)),
    new Option("Delete a filter…", "delete"),
  );
  select.hidden = !filters.length;
}

document.addEventListener("palette", ({ detail }) => {
  for (const [name, saved] of Object.entries(read())) {
    detail.push({ label: `Filter ${name}`, kind: "filter", run: () => (location.search = saved) });
  }
});

async function save() {
  if (!query()) return toast("Nothing is filtered.", { hint: "Search, or choose a status, an agent or a tag first." });
  const name = (await sure("Save this filter", "The board and the list offer it.", { yes: "Save", note: "Name", isLine: true }))?.trim();
  if (!name) return;
  const succeeded = await write({ ...read(), [name.slice(0, 60)]: query() });
  draw();
  if (succeeded) toast(`The filter “${name.slice(0, 60)}” was saved.`);
}

async function remove() {
  const box = make("dialog");
  box.setAttribute("aria-labelledby", "delete-filter");
  const form = make("form", { method: "dialog", className: "form" });
  form.append(make("h2", { id: "delete-filter", textContent: "Delete a saved filter" }));
  for (const name of Object.keys(read())) form.append(make("button", { value: name, textContent: name }));
  form.append(make("button", { value: "", textContent: "Cancel" }));
  box.append(form);
  document.body.append(box);
  box.showModal();
  box.addEventListener("close", () => {
    const filters = read();
    const gone = filters[box.returnValue];
    box.remove();
    if (gone === undefined) return draw();
    const { [box.returnValue]: _, ...rest } = filters;
    write(rest);
    draw();
    toast(`The filter “${box.returnValue}” was deleted.`, {
      undo: async () => {
        await write({ ...read(), [box.returnValue]: gone });
        draw();
      },
    });
  });
}

select.addEventListener("change", () => {
  if (select.value === "delete") remove();
  else location.search = select.value;
});
document.getElementById("save-filter").addEventListener("click", save);
draw();
