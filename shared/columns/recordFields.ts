import { z } from 'zod';
import { annotationFields } from '../wire/annotationRatings.ts';
import type { LoggedKind, RecordKind } from '../wire/recordKinds.ts';
import type { StoredForm } from './columnDef.ts';
import { datasetFields } from './dataset.ts';
import type { ByKind, RecordField } from './recordField.ts';
import { standardFields } from './standard.ts';
import { unlistedFields } from './unlisted.ts';

type Field = (typeof standardFields)[number] | (typeof datasetFields)[number] | (typeof unlistedFields)[number];
type Schemas<Side extends 'logged' | 'answered', K extends RecordKind> = {
  [F in Field as K extends keyof F[Side] ? F['id'] : never]: F[Side][K & keyof F[Side]];
};

/** Every field of records but their annotations, which are kept with the queues. */
export const recordFields = [...standardFields, ...datasetFields, ...unlistedFields] as unknown as readonly RecordField[];

/** A field that is kept with its record. */
export type StoredField = RecordField & { stored: StoredForm };
export const storedFields: readonly StoredField[] = recordFields.filter(
  (field): field is StoredField => field.stored !== undefined,
);

const schemasOf = (side: 'logged' | 'answered', kind: RecordKind) =>
  Object.fromEntries(
    recordFields.flatMap((field) => ((field[side] as ByKind)[kind] ? [[field.id, (field[side] as ByKind)[kind]]] : [])),
  );

/** A record of a kind as callers log it: its fields, without the spans below it. */
export const loggedRecord = <K extends LoggedKind>(kind: K) => z.object(schemasOf('logged', kind) as Schemas<'logged', K>);

/** A record of a kind as answers show it, with all its fields. */
export const answeredRecord = <K extends RecordKind>(kind: K) =>
  z.object({ ...(schemasOf('answered', kind) as Schemas<'answered', K>), ...annotationFields });

/** Returns what the interface requires of a record of a kind. */
export const requiredFields = (kind: RecordKind): Readonly<Record<string, true>> =>
  Object.fromEntries(recordFields.filter(({ required }) => required?.includes(kind)).map(({ id }) => [id, true]));

/** The value that a column of this type holds. */
type ValueOf<SqlType extends string> = SqlType extends `${infer Type} ${'CODEC' | 'DEFAULT'}${string}`
  ? ValueOf<Type>
  : SqlType extends `Nullable(${infer Type})`
    ? ValueOf<Type> | null
    : SqlType extends `LowCardinality(${infer Type})`
      ? ValueOf<Type>
      : SqlType extends `Array(${infer Type})`
        ? readonly ValueOf<Type>[]
        : SqlType extends `Map(${string}`
          ? Readonly<Record<string, string>>
          : SqlType extends `${'Int' | 'UInt' | 'Float'}${string}`
            ? number
            : SqlType extends 'Bool'
              ? boolean
              : string;
type StoredValue<S> = S extends { as: 'metrics' }
  ? Readonly<Record<string, unknown>>
  : S extends { as: string }
    ? unknown
    : S extends { sqlType: infer Type extends string }
      ? ValueOf<Type>
      : never;

/** The stored fields of a record. Times are in the canonical form (see wire/time.ts). */
export type StoredFields = {
  [F in Field as F extends { stored: StoredForm } ? F['id'] : never]: F extends { stored: infer S } ? StoredValue<S> : never;
};
