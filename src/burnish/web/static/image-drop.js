// Images that are pasted or dropped into a description: stored by the server, and referred to in the text.
import { api } from "./burnish.js";

// the server takes requests of up to 2 MB, and base64 is a third longer
const MOST_BYTES = 1_400_000;
const field = (event) => event.target.closest?.("textarea[data-images]");
const images = (data) => [...(data?.files ?? [])].filter((file) => file.type.startsWith("image/"));

document.addEventListener("paste", (event) => take(event, event.clipboardData));
document.addEventListener("drop", (event) => take(event, event.dataTransfer));
document.addEventListener("dragover", (event) => {
  if (field(event) && [...event.dataTransfer.items].some((item) => item.kind === "file")) event.preventDefault();
});

async function take(event, data) {
  const area = field(event);
  const files = images(data);
  if (!area || !files.length) return;
  event.preventDefault();
  const status = area.closest("form").querySelector("[data-image-status]");
  for (const file of files) {
    status.textContent = `Storing ${file.name}…`;
    try {
      if (file.size > MOST_BYTES) throw new Error(`${file.name} is larger than 1.4 MB. Make it smaller, or use burnish add --image.`);
      const { markdown } = await api("POST", "/images", { data: await base64(file), label: file.name.replace(/\.\w+$/, "") });
      const before = area.value.slice(0, area.selectionStart);
      const gap = before && !before.endsWith("\n") ? "\n\n" : "";
      area.setRangeText(`${gap}${markdown}\n`, area.selectionStart, area.selectionEnd, "end");
      area.dispatchEvent(new Event("input", { bubbles: true }));
      status.textContent = `Added ${file.name}. Preview shows it.`;
    } catch (problem) {
      status.textContent = `${problem.message} ${problem.hint ?? ""}`;
    }
  }
}

async function base64(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 32_768) text += String.fromCharCode(...bytes.subarray(at, at + 32_768));
  return btoa(text);
}
