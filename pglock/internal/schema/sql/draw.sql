-- Numbers a lock that this connection holds already, above the ceiling that it knew of: number, server time, the ceiling.
select nextval($1::oid::regclass), clock_timestamp(), (select coalesce(max(high), 0) from tenure.ceiling)
