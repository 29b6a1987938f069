import { createPrivateKey } from 'node:crypto';
import { SignJWT } from 'jose';
import { z } from 'zod';
import { parsedOrNothing } from '../json/parseJson.ts';
import { Url } from '../wire/integrations.ts';
import { isObject } from '../wire/isObject.ts';

/** A field that has to be there. */
const text = () => z.string({ error: ({ input }) => (input === undefined ? 'is missing' : undefined) });

const Account = z.object({
  client_email: text().min(1).max(1_024),
  private_key: text().refine(isKey, { error: 'must be a private RSA key in PEM, from its BEGIN to its END line' }),
  private_key_id: z.string().nullish(),
  project_id: z.string().nullish(),
  token_uri: Url.nullish().transform((uri) => uri ?? 'https://oauth2.googleapis.com/token'),
});

/** The key of a service account of Google Cloud: the text of the JSON file that is made for it. */
export const ServiceAccountKey = z
  .string()
  .max(16_384)
  .superRefine((text, context) => {
    const key = parsedOrNothing(text);
    if (!isObject(key)) {
      context.addIssue({ code: 'custom', message: 'must be the text of the JSON key file of a service account' });
      return;
    }
    for (const { path, message } of Account.safeParse(key).error?.issues ?? [])
      context.addIssue({ code: 'custom', message: `the JSON key of the service account: ${path.join('.')} ${message}` });
  });

/** @throws ZodError for a text that is no {@link ServiceAccountKey} */
export const serviceAccountIn = (text: string): z.output<typeof Account> => Account.parse(parsedOrNothing(text));

function isKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'rsa';
  } catch {
    return false;
  }
}

const LIFETIME_S = 3_600;

/** Returns what a token endpoint gives an access token for (RFC 7523 section 2.1), in the fields of its form. */
export async function assertionForm(text: string, tokenUrl: string, scope: string): Promise<Record<string, string>> {
  const { client_email, private_key, private_key_id } = serviceAccountIn(text);
  const now = Math.floor(Date.now() / 1_000);
  const assertion = await new SignJWT({ scope })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(private_key_id && { kid: private_key_id }) })
    .setIssuer(client_email)
    .setAudience(tokenUrl)
    .setIssuedAt(now)
    .setExpirationTime(now + LIFETIME_S)
    .sign(createPrivateKey(private_key));
  return { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion };
}
