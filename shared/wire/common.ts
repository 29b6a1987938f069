import { z } from 'zod';

/** uuid version 4; upper case is accepted and stored lower case. */
export const Uuid = z.uuidv4().toLowerCase();

/** A name, without blanks around it: it is found by what was sent, with or without them. */
export const NameOf = (most: number) => z.string().trim().min(1).max(most);

/** The key, value or kind of a tag of an experiment, without blanks around it, as it is looked for. */
export const TagText = z.string().trim().max(256);

/** ISO 8601 with an offset or `Z`; a time without an offset is read as UTC, as existing clients mean it. */
export const Timestamp = z.iso.datetime({ offset: true, local: true });

const truth = z
  .enum(['true', 'false', 'True', 'False', '1', '0'])
  .transform((text) => text === 'true' || text === 'True' || text === '1');
/** A boolean query or form parameter. */
export const QueryFlag = (byDefault: boolean) => truth.default(byDefault);

/** A value of a body; `null` and absent mean the default. */
export const orDefault = <T extends z.ZodType>(schema: T, value: z.output<T>) =>
  schema.nullish().transform((given) => given ?? value);
/** A boolean of a body. */
export const BodyFlag = (byDefault: boolean) => orDefault(z.boolean(), byDefault);

/** A page of none is one, too, here and of records: it says how many there are. */
const MIN_PAGE = 0;

/** Paging by offset, as query parameters. */
export const PageQuery = z.object({
  starting_token: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(MIN_PAGE).max(100_000).default(100),
});

/** Paging by offset, inside a body. */
export const PageBody = z.object({
  starting_token: orDefault(z.number().int().min(0), 0),
  limit: orDefault(z.number().int().min(MIN_PAGE).max(100_000), 100),
});

export interface PageRequest {
  starting_token: number;
  limit: number;
}

/** The paging keys of every page answer; `next_starting_token` is null on the last page, or clients would loop for ever. */
export const PageFields = {
  starting_token: z.number().int(),
  limit: z.number().int(),
  paginated: z.boolean(),
  next_starting_token: z.number().int().nullable(),
};

/** The values of {@link PageFields} for a page of `count` items; `hasMore` where items follow behind it. */
export function pageFields(page: PageRequest, count: number, hasMore: boolean) {
  const next = page.starting_token + count;
  const more = count > 0 && hasMore;
  return { starting_token: page.starting_token, limit: page.limit, paginated: more, next_starting_token: more ? next : null };
}

/** Errors of the catalogue, in answers and in the results of metrics. */
export const StandardError = z
  .object({
    error_code: z.int(),
    error_type: z.string(),
    error_group: z.string(),
    severity: z.enum(['low', 'medium', 'high', 'critical']),
    message: z.string(),
    user_action: z.string().nullish(),
    documentation_link: z.string().nullish(),
    retriable: z.boolean().optional(),
    blocking: z.boolean().optional(),
    http_status_code: z.int().nullish(),
    source_service: z.string().nullish(),
    context: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: 'StandardError' });
export type StandardError = z.output<typeof StandardError>;

/** For the API document: the schema that says what a value is, where the one that reads it takes it apart in a way of its own. */
export const documentedAs = new WeakMap<z.ZodType, z.ZodType>();

/** A field whose values `read` changes before `schema` sees them; the document of the API has the schema alone. */
export function readBy<T extends z.ZodType>(read: (value: unknown) => unknown, schema: T) {
  const field = z.preprocess(read, schema);
  documentedAs.set(field, schema);
  return field;
}

/** The body of an own route that needs none. */
export const NoKeys = z.strictObject({}).nullish();
/** The query of an own route that takes none and has no body whose keys say so. */
export const NoQuery = z.strictObject({});

export const Message = z.object({ message: z.string() });
export const AnyJson = z.unknown();
