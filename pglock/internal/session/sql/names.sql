-- Notes what keys stand for, so that lists can be read. Nobody waits for it, and a crash may lose it.
insert into tenure.name as n (key, name, used)
select key, name, current_date
from unnest($1::bigint[], $2::text[]) as u(key, name)
order by key, name -- so that two processes do not deadlock
on conflict (key, name) do update set used = excluded.used where n.used < excluded.used - 7
