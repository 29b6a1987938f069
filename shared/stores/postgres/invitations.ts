import { z } from 'zod';
import type { AccountStore } from '../../accounts/accountStore.ts';
import { ServiceError } from '../../errors/errors.ts';
import { userRoles } from '../../wire/accounts.ts';
import type { Database } from './database.ts';
import { insertUser } from './userRows.ts';

const InvitationRow = z.object({ email: z.string(), role: z.enum(userRoles) });
const Emails = z.array(z.object({ email: z.string() }));
const Spent = z.object({ group_ids: z.array(z.string()) });

/** Accounts that administrators offer. */
export function postgresInvitations(
  database: Database,
): Pick<AccountStore, 'insertInvitations' | 'invitation' | 'spendInvitation'> {
  return {
    insertInvitations: (invitations, { role, groupIds, createdBy }) =>
      database.transaction(async (tx) => {
        const taken = Emails.parse(
          await tx.query('SELECT email FROM users WHERE removed_at IS NULL AND lower(email) = ANY ($1::text[]) ORDER BY email', [
            invitations.map(({ email }) => email.toLowerCase()),
          ]),
        );
        if (taken.length > 0)
          throw new ServiceError(
            'Conflict',
            `no invitation was made: these have accounts already: ${taken.map(({ email }) => email).join(', ')}`,
          );
        const groups = await tx.query('SELECT id FROM user_groups WHERE id = ANY ($1::uuid[])', [groupIds]);
        const unknown = groupIds.filter((id) => !groups.some((group) => group.id === id));
        if (unknown.length > 0) throw new ServiceError('NotFound', `no such group: ${unknown.join(', ')}`);
        await tx.query('DELETE FROM invitations WHERE expires_at < now()');
        for (const { email, tokenHash, expiresAt } of invitations)
          await tx.query(
            `INSERT INTO invitations (email, token_hash, role, group_ids, created_by, expires_at) VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (lower(email)) DO UPDATE
               SET email = excluded.email, token_hash = excluded.token_hash, role = excluded.role, group_ids = excluded.group_ids,
                 created_by = excluded.created_by, expires_at = excluded.expires_at`,
            [email, tokenHash, role, groupIds, createdBy, expiresAt],
          );
      }),
    async invitation(tokenHash, now) {
      const sql = 'SELECT email, role FROM invitations WHERE token_hash = $1 AND expires_at > $2';
      const row = await database.maybeOne(sql, [tokenHash, now]);
      return row && InvitationRow.parse(row);
    },
    spendInvitation: (tokenHash, now, user) =>
      database.transaction(async (tx) => {
        const row = await tx.maybeOne(
          `DELETE FROM invitations WHERE token_hash = $1 AND expires_at > $2 AND lower(email) = lower($3) RETURNING group_ids`,
          [tokenHash, now, user.email],
        );
        if (!row) return undefined;
        const made = await insertUser(tx, user);
        await tx.query(
          `INSERT INTO user_group_members (group_id, user_id, role) SELECT id, $2::uuid, 'member' FROM user_groups WHERE id = ANY ($1::uuid[])`,
          [Spent.parse(row).group_ids, user.id],
        );
        return made;
      }),
  };
}
