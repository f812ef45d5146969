-- What a 64-bit key stands for. Written once per name and process, beside the acquiring path: it makes lists readable,
-- and two names under one key are a collision that somebody should hear of.
create table tenure.name (
    key  bigint not null,
    name text   not null,
    used date   not null default current_date, -- rows that nobody used for long go
    primary key (key, name)
);
