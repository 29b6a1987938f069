import type { z } from 'zod';
import type * as accounts from '../../shared/accounts/accountStore.ts';
import { type Caller, userPermissions } from '../../shared/accounts/permissions.ts';
import type { User, UserInfo } from '../../shared/wire/accounts.ts';

export const toUserInfo = ({ id, email, firstName, lastName }: accounts.User): z.input<typeof UserInfo> => ({
  id,
  email,
  first_name: firstName,
  last_name: lastName,
});

export function toUser(caller: Caller, user: accounts.User): z.input<typeof User> {
  return {
    id: user.id,
    permissions: userPermissions(caller, user.id),
    email: user.email,
    first_name: user.firstName,
    last_name: user.lastName,
    auth_method: 'email',
    role: user.role,
    organization_id: user.organizationId,
    organization_name: user.organizationName,
    created_at: user.createdAt.toISOString(),
    updated_at: user.updatedAt.toISOString(),
  };
}
