-- The properties that tokens stand on, by the catalogue: a name and whether it is as it must be.
select c.relname::text,
       case c.relname
         when 'ceiling' then c.relpersistence = 'p'
         when 'incarnation' then c.relpersistence = 'u'
         else c.relpersistence = 'u' and exists (
           select from pg_sequence s
            where s.seqrelid = c.oid and s.seqcache = 1 and s.seqincrement = 1 and not s.seqcycle)
       end
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'tenure'
 where c.relname in ('ceiling', 'incarnation', 'grants')
 order by c.relname
