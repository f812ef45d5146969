-- Ends the wait of a backend of ours. No row: this server has no such session.
select pg_cancel_backend(pid)
  from pg_stat_activity
 where pid = $1::bigint and application_name = $2::text
