-- Where the checkout of a project is on each machine that shares the database; SQLite needs only `projects.info`.
CREATE TABLE checkouts (
    machine TEXT NOT NULL,
    project TEXT NOT NULL,
    dir_hash TEXT NOT NULL,
    info TEXT NOT NULL,
    PRIMARY KEY (machine, project)
);

-- What a runner on another machine is asked to stop; task 0 is all of its tasks.
CREATE TABLE stop_requests (
    runner TEXT NOT NULL,
    task BIGINT NOT NULL,
    PRIMARY KEY (runner, task)
);
