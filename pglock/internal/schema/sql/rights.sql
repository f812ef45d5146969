-- Which of the rights ($1: kinds, $2: names, $3: privileges) the role has; null where the object is not there. By the
-- catalogue, which needs no right on the schema.
select r.ord::int,
       case r.kind
         when 'FUNCTION' then
           (select has_function_privilege(p.oid, r.privilege)
              from pg_proc p where p.pronamespace = n.oid and p.proname = r.name)
         when 'SEQUENCE' then
           (select has_sequence_privilege(c.oid, r.privilege)
              from pg_class c where c.relnamespace = n.oid and c.relname = r.name and c.relkind = 'S')
         else
           (select has_table_privilege(c.oid, r.privilege)
              from pg_class c where c.relnamespace = n.oid and c.relname = r.name)
       end
  from unnest($1::text[], $2::text[], $3::text[]) with ordinality as r (kind, name, privilege, ord),
       pg_namespace n
 where n.nspname = 'tenure'
