import type { z } from 'zod';
import type { RecordKind } from '../wire/recordKinds.ts';
import type { ColumnDef, StoredForm } from './columnDef.ts';

/** A schema for each kind of record that has the field. */
export type ByKind = { readonly [K in RecordKind]?: z.ZodType };

/**
 * A field of records as it is declared: once, in `standard.ts` where the catalogs list it, else in `unlisted.ts`. The schemas of ingest and of
 * answers, `StoredRecord`, the record table and its rows follow from it.
 */
export interface FieldEntry {
  /** Its name on the wire and in the record table. */
  id: string;
  /** The kinds of records that have it. */
  kinds: readonly RecordKind[];
  /** Schema of its value, which is null or absent where a record has none, both ways and for all of `kinds`. */
  value?: z.ZodType;
  /** Schemas of what callers log, where that is not a nullish `value`. Without either the service alone sets the field. */
  logged?: ByKind;
  /** Schemas of what answers show, where that is not a nullable `value`. Without either the field is not shown. */
  answered?: ByKind;
  /** Shown where a record has no value; absent: null. */
  blank?: unknown;
  /** Every answer shows it, whatever columns a search selects. */
  always?: true;
  /** The kinds whose whole records always have it, by the interface. */
  required?: readonly RecordKind[];
  /** Absent: it is not kept with the record. */
  stored?: StoredForm;
}

/** A field that the catalogs list: `kinds` are those they name, and where its value is kept elsewhere `source` says so. */
export interface ColumnEntry
  extends FieldEntry,
    Pick<ColumnDef, 'label' | 'description' | 'dataType'>,
    Partial<Pick<ColumnDef, 'category' | 'groupLabel'>> {
  source?: ColumnDef['source'];
  sortable?: boolean;
  optional?: true;
  multiValued?: true;
  allowedValues?: readonly string[];
}

type Kinds<E extends FieldEntry> = E['kinds'][number];
type None = Record<never, never>;
type Logged<E extends FieldEntry> = E extends { logged: infer L extends ByKind }
  ? L
  : E extends { value: infer V extends z.ZodType }
    ? { readonly [K in Exclude<Kinds<E>, 'session'>]: z.ZodOptional<z.ZodNullable<V>> }
    : None;
type Answered<E extends FieldEntry> = E extends { answered: infer A extends ByKind }
  ? A
  : E extends { value: infer V extends z.ZodType }
    ? { readonly [K in Kinds<E>]: z.ZodNullable<V> }
    : None;

/** A field with what its entry leaves open. */
export type RecordField<E extends FieldEntry = FieldEntry> = Omit<E, 'value' | 'logged' | 'answered' | 'blank'> & {
  logged: Logged<E>;
  answered: Answered<E>;
  blank: unknown;
};

/** The same schema for each of these kinds. */
export const each = <const K extends readonly RecordKind[], S extends z.ZodType>(
  kinds: K,
  schema: S,
): { readonly [k in K[number]]: S } => Object.fromEntries(kinds.map((kind) => [kind, schema])) as { [k in K[number]]: S };

/** Adds what an entry leaves out: the schemas of its kinds, made from `value`, and an empty value of null. */
export function field<const E extends FieldEntry>(entry: E): RecordField<E> {
  const { value, kinds } = entry as FieldEntry;
  // Sessions have a route of their own and are not logged as records of a tree.
  const nested = kinds.filter((kind) => kind !== 'session');
  return {
    blank: null,
    logged: value ? each(nested, value.nullish()) : {},
    answered: value ? each(kinds, value.nullable()) : {},
    ...entry,
  } as unknown as RecordField<E>;
}

/** @throws Error where the entry says neither how the column is stored nor where its value is found */
export function column<const E extends ColumnEntry>(entry: E): RecordField<E> & ColumnDef {
  const { stored, source } = entry as ColumnEntry;
  const found = stored ? ({ at: 'record', ...stored } as const) : source;
  if (!found) throw new Error(`the column ${entry.id} is found nowhere`);
  return {
    category: 'standard',
    groupLabel: 'Standard',
    sortable: true,
    filterable: true,
    optional: false,
    ...field(entry),
    source: found,
  } as unknown as RecordField<E> & ColumnDef;
}
