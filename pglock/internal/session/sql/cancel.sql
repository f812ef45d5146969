-- Ends the wait of a backend of ours.
select pg_cancel_backend($1::bigint::int)
