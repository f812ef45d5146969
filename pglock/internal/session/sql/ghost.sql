-- Ends a session of ours whose connection broke: the server may not have noticed, and keep its locks. Its application name
-- tells it from another session with the same process id. A row as long as it is there.
select pg_terminate_backend(pid)
  from pg_stat_activity
 where pid = $1::bigint and application_name = $2::text
