-- People of a server. `token` is the digest of the token; revoking removes the row.
CREATE TABLE people (
    name TEXT NOT NULL PRIMARY KEY,
    role TEXT NOT NULL,
    token TEXT NOT NULL,
    created_at TEXT NOT NULL,
    created_by TEXT NOT NULL,
    seen_at TEXT NOT NULL DEFAULT ''
);

CREATE UNIQUE INDEX people_by_token ON people (token);

-- One-time links for logging in. `token` is that of the person at the time: a new one ends the link.
CREATE TABLE login_links (
    code TEXT NOT NULL PRIMARY KEY,
    token TEXT NOT NULL,
    until TEXT NOT NULL
);

-- What was done or refused on the server. Not events: they belong to no project, and old ones are removed.
CREATE TABLE audit (
    id BIGINT NOT NULL PRIMARY KEY,
    ts TEXT NOT NULL,
    person TEXT NOT NULL,
    role TEXT NOT NULL,
    via TEXT NOT NULL,
    address TEXT NOT NULL,
    project TEXT NOT NULL,
    task BIGINT,
    action TEXT NOT NULL,
    status BIGINT NOT NULL,
    more BIGINT NOT NULL DEFAULT 0,
    is_refused BIGINT NOT NULL
);
