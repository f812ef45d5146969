-- What decides whether the schema can be here: one row, by means that old servers have too.
select current_setting('server_version_num')::int,
       current_setting('server_version'),
       pg_is_in_recovery(),
       current_setting('default_transaction_read_only')::bool,
       (select source from pg_settings where name = 'default_transaction_read_only'),
       current_user::text,
       current_database()::text,
       has_database_privilege(current_database(), 'CREATE'),
       n.oid is not null,
       coalesce(has_schema_privilege(n.oid, 'USAGE'), false),
       coalesce(has_schema_privilege(n.oid, 'CREATE'), false),
       m.oid is not null,
       coalesce(has_table_privilege(m.oid, 'SELECT'), false),
       coalesce(pg_has_role(m.relowner, 'USAGE'), true), -- who owns one table owns all
       coalesce(pg_get_userbyid(m.relowner)::text, '')
  from (select) as always
  left join pg_namespace n on n.nspname = 'tenure'
  left join pg_class m on m.relnamespace = n.oid and m.relname = 'migration'
