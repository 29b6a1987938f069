/** Says to a key that is limited to a project why a section is empty for it. */
export const NoPart = ({ what }: { what: string }) => (
  <p>You signed in with a key that is limited to a project: it has no part in {what}. Sign in as a user to see them.</p>
);
