// The key allows changes. It is kept in local storage, which belongs to this port; a cookie is shared by all ports.
import { KEY } from "./burnish.js";

localStorage.setItem(KEY, document.body.dataset.key);
location.replace("/");
