import { z } from 'zod';
import { RequestInvalid } from '../errors/errors.ts';
import { documentedAs, orDefault } from '../wire/common.ts';
import type { SignRequest } from './chatCompletion.ts';
import type { Authentication } from './provider.ts';

const credential = z
  .string()
  .min(1)
  .max(16_384)
  .regex(/^[\x21-\x7e]+$/, { error: 'must be printable characters without spaces' });

const AwsCredentials = z.object({
  aws_access_key_id: credential,
  aws_secret_access_key: credential,
  /** Token of temporary credentials. */
  aws_session_token: credential.nullish(),
});

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
};

/** The same as it is kept and shown: without the credentials. */
export const keptAwsSettings = { credential_type: CredentialType, region: z.string() };

/** @throws RequestInvalid for a role, which only somebody with credentials of their own can assume */
export function refuseAssumedRole(credentialType: z.output<typeof CredentialType>): void {
  if (credentialType === 'assumed_role')
    throw new RequestInvalid([
      {
        loc: ['body', 'credential_type'],
        msg: 'assumed_role is not supported: use key_secret, with aws_session_token in `token` for temporary credentials of a role',
        type: 'value_error',
      },
    ]);
}

/** `https://bedrock-runtime.us-west-2.amazonaws.com` */
export const awsAddress = (host: string, region: string): string =>
  `https://${host}.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;

/** Returns the function that signs requests with this authentication; undefined where they need no signature. */
export function signerOf(authentication: Authentication): SignRequest | undefined {
  if (authentication.kind !== 'aws') return undefined;
  const { service, region, credentials } = authentication;
  return async ({ url, headers, body }) => {
    const { aws_access_key_id, aws_secret_access_key, aws_session_token } = AwsCredentials.parse(JSON.parse(credentials));
    // Loaded with the first such call: most services never make one.
    const { AwsV4Signer } = await import('aws4fetch');
    const signed = await new AwsV4Signer({
      ...{ method: 'POST', url, headers, body, service, region },
      ...{ accessKeyId: aws_access_key_id, secretAccessKey: aws_secret_access_key },
      ...(aws_session_token != null && { sessionToken: aws_session_token }),
    }).sign();
    return Object.fromEntries(signed.headers);
  };
}
