// What a person has chosen for the pages, kept by the server: a login clears the storage of the browser.
import { api, attempt } from "./burnish.js";

const values = JSON.parse(document.body.dataset.preferences);
// other open pages of this browser
const pages = new BroadcastChannel("burnish-preferences");

/** The stored text; "" if there is none. */
export const preference = (name) => values[name] ?? "";

/** Keeps a text under one of the names that the API knows; it counts at once. */
export function setPreference(name, text) {
  values[name] = text;
  pages.postMessage({ name, text });
  return attempt(() => api("PATCH", "/me/preferences", { [name]: text }));
}

pages.addEventListener("message", ({ data }) => {
  values[data.name] = data.text;
  document.dispatchEvent(new CustomEvent("preference", { detail: data.name }));
});
