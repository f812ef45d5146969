-- Who holds what for longer than a heartbeat, for lists and for requests to let go. Nothing is decided by it: the locks
-- are the server's own. UNLOGGED, since those end with a crash too. Rows of sessions whose backend is gone are removed
-- by whoever notices (sweep.sql).
create unlogged table tenure.holding (
    session text        not null,
    acq     bigint      not null, -- the acquisition's number in its session
    backend int         not null, -- pg_backend_pid() of the connection that holds
    class   bigint      not null, -- class, object and form as in pg_locks: classid, objid, objsubid
    object  bigint      not null,
    form    int         not null,
    shared  boolean     not null,
    name    text        not null,
    number  bigint      not null, -- the grant
    since   timestamptz not null,
    host    text        not null default '',
    pid     bigint      not null default 0, -- of the client's process
    program text        not null default '',
    note    text        not null default '',
    wanted  text, -- a request to let go: who asks, and when
    primary key (session, acq)
);
create index holding_key on tenure.holding (class, object, form);
