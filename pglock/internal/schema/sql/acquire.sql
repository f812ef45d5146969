-- Tries one key ($1), and numbers the grant from the sequence $2: number, server time. 0: another has it. The number is drawn
-- after the grant, since only a branch of CASE waits for its condition. By the sequence's oid and not its name, so that this
-- fails where it was made anew. No table is read: that costs more than all the rest (measured).
select case when pg_try_advisory_lock($1::bigint) then nextval($2::oid::regclass) else 0 end, clock_timestamp()
