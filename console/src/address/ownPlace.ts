/** The place of this console to which a sign-in leads, whatever the address says. */
export const ownPlace = (next: string | undefined): string =>
  next?.startsWith('/') && !next.startsWith('//') && !next.includes('\\') ? next : '/';
