-- When a job last ran, and who ran it, for OncePer and Gap. An ordinary table: a run forgotten is a run repeated.
create table tenure.ran (
    name    text        primary key,
    at      timestamptz not null,
    host    text        not null default '',
    pid     bigint      not null default 0,
    program text        not null default '',
    note    text        not null default ''
);
