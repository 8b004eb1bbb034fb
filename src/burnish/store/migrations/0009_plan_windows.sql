-- How much of each window of a login's plan is used (of 1), as its program reported it, until the window is reset.
CREATE TABLE plan_windows (
    login TEXT NOT NULL,
    name TEXT NOT NULL,
    until TEXT NOT NULL,
    share REAL NOT NULL,
    PRIMARY KEY (login, name, until)
);
