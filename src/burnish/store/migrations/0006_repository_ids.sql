-- What a repository is known by after it was moved (`refs/burnish/local/id` in it); '' where it has none yet.
ALTER TABLE projects ADD COLUMN repository_id TEXT NOT NULL DEFAULT '';
