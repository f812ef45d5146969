-- Gives one key back. False: this connection did not have it.
select pg_advisory_unlock($1)
