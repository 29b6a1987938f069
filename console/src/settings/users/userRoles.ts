import type { UserRole } from '../../data/accounts.ts';

/** The roles of a user in the organization, from most to least. */
export const roleTexts: Record<UserRole, { label: string; text: string }> = {
  admin: { label: 'Administrator', text: 'Owns everything, and manages users and groups.' },
  manager: { label: 'Manager', text: 'Owns everything, and connects providers of models.' },
  user: { label: 'User', text: 'Makes projects, and has in others the role that they give.' },
  read_only: { label: 'Read-only', text: 'Reads what is shared, and is never more than a viewer.' },
};

export const userRoleNames = Object.keys(roleTexts) as UserRole[];
