-- The heartbeat: it restarts the session's idle timeout, and tells whose session it is and how many advisory locks it has.
-- It answers with a row, so that a client whose answers do not arrive notices.
select pg_backend_pid(),
       (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid() and granted)
