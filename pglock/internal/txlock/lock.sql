-- Takes one lock until the transaction ends, in one statement and so in one round trip.
--
--   $1  what to do: lock, share, try lock or try share, followed by the form of the key, bigint or int4
--   $2  the key, if it is a bigint
--   $3  the key's two halves, if it is a pair
--   $4
--   $5  the most milliseconds that the session may be idle in this transaction; null leaves that as it is
--
-- It answers with one word: locked or held; or without having locked anything standby, or the isolation level.
--
-- CASE tries its branches in order and stops at the first that is true: the lock is neither asked for nor waited for on a
-- server or in a transaction where it would mislead. No branch raises an error, which would abort the caller's transaction.
-- The functions that wait give void, which is not null; given a null they lock nothing and give null, which is not locked.
select case
    -- A standby grants locks that exclude nobody on the primary.
    when pg_is_in_recovery()
        then 'standby'
    -- The snapshot of repeatable read and serializable is taken by this statement, before its wait.
    when current_setting('transaction_isolation') not in ('read committed', 'read uncommitted')
        then current_setting('transaction_isolation')
    when case $1::text
            when 'lock bigint'      then pg_advisory_xact_lock($2::bigint) is not null
            when 'lock int4'        then pg_advisory_xact_lock($3::int, $4::int) is not null
            when 'share bigint'     then pg_advisory_xact_lock_shared($2::bigint) is not null
            when 'share int4'       then pg_advisory_xact_lock_shared($3::int, $4::int) is not null
            when 'try lock bigint'  then pg_try_advisory_xact_lock($2::bigint)
            when 'try lock int4'    then pg_try_advisory_xact_lock($3::int, $4::int)
            when 'try share bigint' then pg_try_advisory_xact_lock_shared($2::bigint)
            when 'try share int4'   then pg_try_advisory_xact_lock_shared($3::int, $4::int)
        end
        then case
            when $5::bigint is null
                then 'locked'
            -- A shorter limit stays: somebody relies on it. 0 is none, and least passes over the null.
            when set_config('idle_in_transaction_session_timeout', least($5::bigint, nullif(
                    extract(epoch from current_setting('idle_in_transaction_session_timeout')::interval) * 1000, 0)::bigint
                )::text, true) is not null
                then 'locked'
        end
    else 'held'
end
