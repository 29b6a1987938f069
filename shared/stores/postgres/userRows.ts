import { z } from 'zod';
import type { NewUser, User } from '../../accounts/accountStore.ts';
import { ServiceError } from '../../errors/errors.ts';
import { userRoles } from '../../wire/accounts.ts';
import type { Queries } from './database.ts';
import { isUniqueViolation } from './databaseErrors.ts';
import { inCamelCase } from './inCamelCase.ts';

export const UserRow = z
  .object({
    id: z.string(),
    email: z.string(),
    first_name: z.string().nullable(),
    last_name: z.string().nullable(),
    role: z.enum(userRoles),
    organization_id: z.string(),
    organization_name: z.string(),
    created_at: z.date(),
    updated_at: z.date(),
  })
  .transform(inCamelCase);

export const userColumns =
  'u.id, u.email, u.first_name, u.last_name, u.role, u.created_at, u.updated_at, o.id AS organization_id, o.name AS organization_name';

export const insertUserRow = (queries: Queries, { id, email, role, passwordHash }: NewUser) =>
  queries.query('INSERT INTO users (id, email, role, password_hash) VALUES ($1, $2, $3, $4)', [id, email, role, passwordHash]);

/** @throws ServiceError `Conflict` when the email is taken. */
export async function insertUser(queries: Queries, given: NewUser): Promise<User> {
  try {
    await insertUserRow(queries, given);
  } catch (err) {
    if (isUniqueViolation(err, 'users_email'))
      throw new ServiceError('Conflict', 'a user with this email exists already', { cause: err });
    throw err;
  }
  return UserRow.parse(
    await queries.maybeOne(`SELECT ${userColumns} FROM users u CROSS JOIN organization o WHERE u.id = $1`, [given.id]),
  );
}
