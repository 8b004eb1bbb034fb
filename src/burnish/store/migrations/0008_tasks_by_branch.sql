-- Each phase asks which tasks work on its branch; among a thousand tasks, the answer must not need all of their rows.
CREATE INDEX tasks_by_branch ON tasks (project, branch);
