import { AwsCredentials, type SignedByRole, signedHeaders } from './awsAuthentication.ts';
import { AttemptFailure, httpFailure } from './failures.ts';
import { postTokenForm } from './tokenRequest.ts';

const WHO = 'the AWS Security Token Service';
/** The longest session that every role allows. */
const SESSION_S = 3_600;
/** Name of the session in the logs of the account. */
const SESSION_NAME = 'assay';

/**
 * Asks for temporary credentials of a role, with the key that may assume it.
 * @returns the credentials as an integration has them, and for how many seconds they hold
 * @throws AttemptFailure
 * @see https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
 */
export async function assumeRole(
  fetchGuarded: typeof fetch,
  { stsUrl, region, credentials }: SignedByRole,
): Promise<{ token: string; lifetimeS: number }> {
  const { aws_role_arn = '', aws_external_id, ...key } = AwsCredentials.parse(JSON.parse(credentials));
  const body = new URLSearchParams({
    ...{ Action: 'AssumeRole', Version: '2011-06-15', RoleArn: aws_role_arn ?? '', RoleSessionName: SESSION_NAME },
    ...{ DurationSeconds: String(SESSION_S), ...(aws_external_id != null && { ExternalId: aws_external_id }) },
  }).toString();
  const unsigned = { url: stsUrl, headers: { 'content-type': 'application/x-www-form-urlencoded' }, body };
  const headers = await signedHeaders({ service: 'sts', region }, key, unsigned);
  const reply = await postTokenForm(fetchGuarded, WHO, { ...unsigned, headers });
  if (reply.status < 200 || reply.status > 299) throw httpFailure(WHO, reply.status, reply.headers);
  const [id, secret, session, expiration] = ['AccessKeyId', 'SecretAccessKey', 'SessionToken', 'Expiration'].map((name) =>
    elementIn(reply.text, name),
  );
  const lifetimeS = (Date.parse(expiration ?? '') - Date.now()) / 1_000;
  const given = AwsCredentials.safeParse({ aws_access_key_id: id, aws_secret_access_key: secret, aws_session_token: session });
  if (!given.success || !session || !(lifetimeS > 0))
    throw new AttemptFailure('malformed_answer', `the answer of ${WHO} holds no credentials that are valid now`, {
      retry: false,
    });
  return { token: JSON.stringify(given.data), lifetimeS };
}

/** The text of an element that is there once and holds no other. */
const elementIn = (xml: string, name: string): string | undefined =>
  new RegExp(`<${name}>([^<&]*)</${name}>`).exec(xml)?.[1]?.trim();
