-- Who holds a key, and who waits for it, in order: $1 and $2 are its two halves as pg_locks shows them, $3 tells the forms
-- apart (1: bigint, 2: two integers). Only this database's: keys of others are other locks (H37).
select l.granted,
       l.mode = 'ShareLock',
       l.pid,
       coalesce(a.application_name, ''),
       l.waitstart,
       h.session, h.acq, h.number, h.since, h.host, h.pid, h.program, h.note
from pg_locks l
  left join pg_stat_activity a on a.pid = l.pid
  left join tenure.holding h on l.granted and h.backend = l.pid and h.class = l.classid::bigint and h.object = l.objid::bigint
       and h.form = l.objsubid and h.shared = (l.mode = 'ShareLock')
       and left(h.session, 8) = left(split_part(a.application_name, ' ', 3), 8)
where l.locktype = 'advisory'
  and l.database = (select oid from pg_database where datname = current_database())
  and l.classid::bigint = $1::bigint and l.objid::bigint = $2::bigint and l.objsubid = $3::bigint
order by l.granted desc, l.waitstart, l.pid
