import { z } from 'zod';
import { RequestInvalid } from '../errors/errors.ts';
import { documentedAs, orDefault } from '../wire/common.ts';
import { Url } from '../wire/integrations.ts';
import type { SignRequest } from './chatCompletion.ts';
import type { Authentication } from './provider.ts';

const credential = z
  .string()
  .min(1)
  .max(16_384)
  .regex(/^[\x21-\x7e]+$/, { error: 'must be printable characters without spaces' });

export const AwsCredentials = z.object({
  aws_access_key_id: credential,
  aws_secret_access_key: credential,
  /** Token of temporary credentials. */
  aws_session_token: credential.nullish(),
  /** The role that the key assumes, with `assumed_role`. */
  aws_role_arn: z
    .string()
    .regex(/^arn:aws[a-z-]*:iam::\d{12}:role\/[\w+=,.@/-]{1,512}$/, {
      error: 'must be the ARN of a role, such as arn:aws:iam::123456789012:role/name',
    })
    .nullish(),
  /** Word that the trust policy of the role asks for. */
  aws_external_id: z
    .string()
    .regex(/^[\w+=,.@:/-]{2,1224}$/, { error: 'must be 2 to 1224 letters, digits or any of _+=,.@:/-' })
    .nullish(),
});
type AwsKey = Pick<z.output<typeof AwsCredentials>, 'aws_access_key_id' | 'aws_secret_access_key' | 'aws_session_token'>;

const AwsToken = AwsCredentials.transform((token): string => JSON.stringify(token));
documentedAs.set(AwsToken, AwsCredentials);

const CredentialType = z.enum(['assumed_role', 'key_secret']);

/** A part of a host's name: nothing that could lead to another host. */
const Region = z.string().regex(/^[a-z0-9]+(-[a-z0-9]+){1,5}$/, { error: 'must be an AWS region such as us-west-2' });

/** The fields of requests that connect a provider in a user's AWS account. */
export const sentAwsSettings = {
  credential_type: orDefault(CredentialType, 'key_secret'),
  region: orDefault(Region, 'us-west-2'),
  token: AwsToken,
  sts_endpoint: Url.nullish(),
};

/** The same as it is kept and shown: without the credentials. */
export const keptAwsSettings = {
  credential_type: CredentialType,
  region: z.string(),
  /** Address of a VPC endpoint of the Security Token Service. */
  sts_endpoint: z.string().nullish(),
};
type AwsSettings = {
  credential_type: z.output<typeof CredentialType>;
  region: string;
  sts_endpoint?: string | null | undefined;
};

/** The settings as they are kept. @throws RequestInvalid where they name a role and the token has none, or the other way round */
export function awsSettings({ credential_type, region, sts_endpoint, token }: AwsSettings & { token: string }): AwsSettings {
  const { aws_role_arn } = AwsCredentials.parse(JSON.parse(token));
  const wrong = (path: string[], msg: string, type: string) => new RequestInvalid([{ loc: ['body', ...path], msg, type }]);
  if (credential_type === 'assumed_role' && aws_role_arn == null)
    throw wrong(['token', 'aws_role_arn'], 'assumed_role needs the ARN of the role that the key of `token` assumes', 'missing');
  if (credential_type === 'key_secret' && aws_role_arn != null)
    throw wrong(['credential_type'], 'a role is assumed with credential_type assumed_role alone', 'value_error');
  return { credential_type, region, ...(sts_endpoint ? { sts_endpoint } : {}) };
}

/** `https://bedrock-runtime.us-west-2.amazonaws.com` */
export const awsAddress = (host: string, region: string): string =>
  `https://${host}.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;

/** How calls of a service are signed. */
export const awsAuthentication = (
  service: string,
  { credential_type, region, sts_endpoint }: AwsSettings,
  credentials: string,
): Signed => ({
  ...{ kind: 'aws', service, region, credentials },
  ...(credential_type === 'assumed_role' ? { stsUrl: sts_endpoint ?? `${awsAddress('sts', region)}/` } : {}),
});

type Signed = Extract<Authentication, { kind: 'aws' }>;
/** Calls that are signed with temporary credentials of a role. */
export type SignedByRole = Signed & { stsUrl: string };

export const isByRole = (authentication: Authentication): authentication is SignedByRole =>
  authentication.kind === 'aws' && authentication.stsUrl !== undefined;

/** Returns the function that signs requests with this authentication; undefined where they need no signature. */
export function signerOf(authentication: Authentication): SignRequest | undefined {
  if (authentication.kind !== 'aws') return undefined;
  return async (request) => signedHeaders(authentication, AwsCredentials.parse(JSON.parse(authentication.credentials)), request);
}

/** The headers of a request with its signature among them. */
export async function signedHeaders(
  { service, region }: Pick<Signed, 'service' | 'region'>,
  { aws_access_key_id, aws_secret_access_key, aws_session_token }: AwsKey,
  { url, headers, body }: Parameters<SignRequest>[0],
): Promise<Record<string, string>> {
  // Loaded with the first such call: most services never make one.
  const { AwsV4Signer } = await import('aws4fetch');
  const signed = await new AwsV4Signer({
    ...{ method: 'POST', url, headers, body, service, region },
    ...{ accessKeyId: aws_access_key_id, secretAccessKey: aws_secret_access_key },
    ...(aws_session_token != null && { sessionToken: aws_session_token }),
  }).sign();
  return Object.fromEntries(signed.headers);
}
