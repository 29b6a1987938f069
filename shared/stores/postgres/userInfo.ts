import { z } from 'zod';

/** The user of a joined `users` row as one JSON value, in the form replies show. */
export const userInfoSql = (alias: string): string =>
  `jsonb_build_object('id', ${alias}.id, 'email', ${alias}.email, 'first_name', ${alias}.first_name, 'last_name', ${alias}.last_name)`;

/** A timestamptz as the wire shows it. */
export const TimeRow = z.date().transform((time) => time.toISOString());
