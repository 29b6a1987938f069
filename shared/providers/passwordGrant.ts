import { z } from 'zod';
import { parsedOrNothing } from '../json/parseJson.ts';
import { AttemptFailure } from './failures.ts';

const FORMS =
  'must be username:password, or JSON with username, password and, where the provider asks for an application, client_id and client_secret';

const Person = z.object({
  username: z.string().min(1),
  password: z.string().min(1),
  client_id: z.string().min(1).optional(),
  client_secret: z.string().min(1).optional(),
});

/** The account of a person in one text; undefined where it is none. */
function personIn(text: string): z.output<typeof Person> | undefined {
  const json = Person.safeParse(parsedOrNothing(text));
  if (json.success) return json.data;
  const colon = text.indexOf(':');
  if (colon <= 0 || colon === text.length - 1 || text.trimStart().startsWith('{')) return undefined;
  return { username: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Why a token is no account of a person, for whom it is saved by. It repeats nothing of it. */
export const passwordProblem = (token: string): string | undefined => (personIn(token) ? undefined : FORMS);

/** The form that asks for an access token with the password of a person (RFC 6749 section 4.3). @throws AttemptFailure */
export function passwordForm(credentials: string, scope: string | null): Record<string, string> {
  const person = personIn(credentials);
  if (!person) throw new AttemptFailure('refused', `the account in \`token\` ${FORMS}`, { retry: false });
  const { username, password, client_id, client_secret } = person;
  return {
    ...{ grant_type: 'password', username, password },
    ...(client_id !== undefined && { client_id }),
    ...(client_secret !== undefined && { client_secret }),
    ...(scope !== null && scope !== '' && { scope }),
  };
}
