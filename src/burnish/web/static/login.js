// The key lets this browser act, not only look. Storage belongs to this port alone; a cookie does not.
import { KEY } from "./burnish.js";

localStorage.setItem(KEY, document.body.dataset.key);
location.replace("/");
