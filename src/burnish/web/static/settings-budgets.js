// Budgets beside what was spent: of one task, of a run, of each agent, of the windows of a plan.
import { api, make } from "./burnish.js";
import { fillValue, replaceTable } from "./settings-edit.js";

const MOST = 3;
const { project } = document.body.dataset;
const money = (usd) => (usd === null || usd === undefined ? "unknown" : `$${usd.toFixed(2)}`);
const LIMIT = /_usd$|_tokens$|window_percent$/;

function shown({ key, value }) {
  if (value === null) return LIMIT.test(key) ? "no limit" : "–";
  return typeof value === "string" ? value : JSON.stringify(value);
}

export async function drawBudgets(place, path, settings) {
  const [cost, day, { windows }, { runs }] = await Promise.all([
    api("GET", `${path}/cost`),
    api("GET", `${path}/cost?days=1`),
    api("GET", "/limits"),
    api("GET", "/server"),
  ]);
  const session = runs.filter((one) => one.project === project);
  const table = make("table", { className: "values" });
  const head = table.createTHead().insertRow();
  for (const title of ["Budget", "Limit", "Spent", "Source"]) head.append(make("th", { scope: "col", textContent: title }));
  const body = table.createTBody();
  const keys = settings.filter((one) => /^(budget|limits)\.|^agents\.[^.]+\.budget_usd$/.test(one.key));
  for (const setting of keys) {
    const row = body.insertRow();
    row.dataset.key = setting.key;
    row.insertCell().append(make("code", { textContent: setting.key }));
    fillValue(row.insertCell(), setting, shown(setting));
    row.insertCell().append(...spent(setting.key, { cost, day, windows, session }));
    row.insertCell().append(make("span", { className: "muted", textContent: setting.origin }));
  }
  const words = "The budget of a single task is raised on its page (Raise and retry).";
  replaceTable(place, table, make("p", { className: "muted small", textContent: words }));
}

/** What the runs of this server have spent so far, each for its own budget. */
const ofRuns = (session, words) => (session.length ? `${session.map(words).join(" and ")} in the current run; ` : "");

function spent(key, { cost, day, windows, session }) {
  if (key === "budget.task_usd") return cost.by_task.length ? mostExpensive(cost.by_task) : ["nothing"];
  if (key === "budget.task_tokens") return [most(cost.by_task)];
  if (key === "budget.session_usd") {
    return [`${ofRuns(session, (run) => money(run.spent_usd))}${money(day.total.cost_usd)} today, in all runs`];
  }
  if (key === "budget.session_tokens") {
    const words = ofRuns(session, (run) => run.spent_tokens.toLocaleString());
    return [`${words}${day.total.tokens.toLocaleString()} today, in all runs`];
  }
  if (key === "limits.window_percent") return [windowShares(windows)];
  const agent = key.match(/^agents\.([^.]+)\.budget_usd$/)?.[1];
  if (!agent) return ["–"];
  const lines = cost.by_agent.filter((one) => one.agent === agent);
  return [lines.length ? `${money(lines.reduce((sum, one) => sum + (one.cost_usd ?? 0), 0))} in all runs` : "nothing"];
}

/** The tasks that cost most, as links to their pages. */
function mostExpensive(tasks) {
  const sorted = [...tasks].sort((one, other) => (other.cost_usd ?? 0) - (one.cost_usd ?? 0)).slice(0, MOST);
  return sorted.flatMap((one, at) => {
    const link = make("a", { href: `/p/${encodeURIComponent(project)}/t/${one.task}`, textContent: `T${one.task}` });
    return [at ? ", " : "most: ", link, ` ${money(one.cost_usd)}`];
  });
}

const most = (tasks) => (tasks.length ? `most: ${Math.max(...tasks.map((one) => one.tokens)).toLocaleString()}` : "nothing");

function windowShares(windows) {
  const parts = windows.map((one) => `${one.login} ${one.name}: ${Math.round(one.share * 100)} %`);
  return parts.length ? parts.join(", ") : "no program reported a window";
}
