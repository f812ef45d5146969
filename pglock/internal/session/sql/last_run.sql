-- The last grant of the name $1 that was remembered: the server's time, then when and whose it was, if there was one.
select a.now, r.at, r.host, r.pid, r.program, r.note
  from (select clock_timestamp() as now) a left join tenure.ran r on r.name = $1
