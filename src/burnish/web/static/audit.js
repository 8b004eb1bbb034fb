// People of the server: add one, change a role, make a one-time link, revoke.
import { api, attempt, make, sure } from "./burnish.js";

const secret = document.getElementById("secret");

/** Shows what the server does not store: a token or a link. */
function show(words, value) {
  secret.replaceChildren(`${words} `, make("code", { textContent: value }));
  secret.hidden = false;
}

/** Fetches the table again: the token that is shown only once stays on the page. */
async function showPeople() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("people");
  if (fresh) document.getElementById("people").replaceWith(fresh);
}

const form = document.getElementById("add-person");
form.addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => {
    const person = await api("POST", "/people", { name: form.elements.name.value.trim(), role: form.elements.role.value });
    form.reset();
    show(`The token of ${person.name}, which is shown only now. It is entered on the login page:`, person.token);
    await showPeople();
  });
});

document.addEventListener("change", (event) => {
  const name = event.target.dataset?.roleOf;
  if (name) attempt(() => api("PATCH", `/people/${encodeURIComponent(name)}`, { role: event.target.value }));
});

document.addEventListener("click", (event) => {
  const { link, revoke } = event.target.dataset ?? {};
  if (link) {
    attempt(async () => {
      const made = await api("POST", `/people/${encodeURIComponent(link)}/link`);
      show(`A link that logs ${link} in once, within a day:`, `${location.origin}${made.path}`);
    });
  }
  if (revoke) {
    attempt(async () => {
      const words = "The token, links and sessions end at once.";
      if ((await sure(`Revoke ${revoke}?`, words, { yes: "Revoke", danger: true })) === null) return;
      await api("DELETE", `/people/${encodeURIComponent(revoke)}`);
      location.reload();
    });
  }
});
