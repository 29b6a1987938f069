import type { Queries } from '../../shared/stores/postgres/database.ts';

/** Parts of the catalog by what they list, each in an order of its own. */
const PARTS = {
  columns: `SELECT c.table_name, c.ordinal_position, c.column_name, format_type(a.atttypid, a.atttypmod) AS type, c.column_default, c.is_nullable,
      c.is_identity, c.identity_generation, c.is_generated, c.generation_expression, a.attstorage, a.attcompression, c.collation_name
    FROM information_schema.columns c JOIN pg_attribute a ON a.attrelid = format('public.%I', c.table_name)::regclass AND a.attname = c.column_name
    WHERE c.table_schema = 'public' ORDER BY 1, 2`,
  indexes: `SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1, 2`,
  constraints: `SELECT conrelid::regclass::text AS of, conname, contype, convalidated, pg_get_constraintdef(oid) AS definition
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2`,
  relations: `SELECT relname, relkind, relpersistence, reloptions, relrowsecurity FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1`,
  functions: `SELECT proname, pg_get_functiondef(oid) AS definition FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1, 2`,
  triggers: `SELECT tgrelid::regclass::text AS of, tgname, pg_get_triggerdef(oid) AS definition FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2`,
  sequences: `SELECT sequencename, data_type::text, start_value, increment_by, min_value, max_value, cycle FROM pg_sequences ORDER BY 1`,
  types: `SELECT typname, typtype FROM pg_type WHERE typnamespace = 'public'::regnamespace AND typtype <> 'c' AND typelem = 0 ORDER BY 1`,
  extensions: 'SELECT extname FROM pg_extension ORDER BY 1',
  migrations: 'SELECT name FROM schema_migrations ORDER BY 1',
} as const;

type DatabaseSchema = Record<keyof typeof PARTS, Record<string, unknown>[]>;

/** All that statements and other objects of a database can depend on, without its rows: two of the same schema give the same. */
export async function databaseSchema(database: Queries): Promise<DatabaseSchema> {
  const parts: Partial<DatabaseSchema> = {};
  for (const [part, sql] of Object.entries(PARTS)) parts[part as keyof typeof PARTS] = await database.query(sql);
  return parts as DatabaseSchema;
}
