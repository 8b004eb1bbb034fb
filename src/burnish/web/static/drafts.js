// Texts of forms that were not sent survive a reload, in this tab.

const keyOf = (form) => `burnish-text:${form.dataset.keepAs}`;
const textsOf = (form) => [...form.querySelectorAll("textarea[name]")];

/** Fills in what was typed under this name before, and keeps what is typed from now on. */
export function keepTexts(form, name) {
  form.dataset.keepAs = name;
  const texts = JSON.parse(sessionStorage.getItem(keyOf(form)) ?? "{}");
  for (const field of textsOf(form)) {
    if (!texts[field.name] || field.value) continue;
    field.value = texts[field.name];
    form.setAttribute("data-touched", "");
  }
}

/** Forgets them: the form was sent. */
export function dropTexts(form) {
  if (form.dataset.keepAs) sessionStorage.removeItem(keyOf(form));
}

document.addEventListener("input", (event) => {
  const form = event.target.closest("form[data-keep-as]");
  if (form) storeTexts(form);
});

// a login in another tab clears what was stored (Clear-Site-Data), and the fields still have it
addEventListener("pagehide", () => document.querySelectorAll("form[data-keep-as][data-touched]").forEach(storeTexts));

function storeTexts(form) {
  const texts = Object.fromEntries(textsOf(form).filter((field) => field.value).map((field) => [field.name, field.value]));
  if (Object.keys(texts).length) sessionStorage.setItem(keyOf(form), JSON.stringify(texts));
  else dropTexts(form);
}
