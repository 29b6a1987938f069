import { z } from 'zod';
import { RequestInvalid } from '../errors/errors.ts';
import type { Secrets } from '../integrations/integration.ts';
import { AuthenticationScope, HeaderMapping, MultiModalConfig, ShownMultiModalConfig, Url } from '../wire/integrations.ts';
import { type Authentication, type Connection, contextHeadersOf } from './provider.ts';

/** What requests may say of a provider that is reached at an address of the user's own: a gateway, or a resource in a cloud. */
export const sentAddressSettings = {
  multi_modal_config: MultiModalConfig.nullish(),
  authentication_scope: AuthenticationScope.nullish(),
  oauth2_token_url: Url.nullish(),
  custom_header_mapping: HeaderMapping.nullish(),
};
type Sent = z.output<z.ZodObject<typeof sentAddressSettings>>;

/** The same as it is kept and shown: nothing of it is a secret. */
export const keptAddressSettings = {
  multi_modal_config: ShownMultiModalConfig.nullable(),
  authentication_scope: z.string().nullable(),
  oauth2_token_url: z.string().nullable(),
  custom_header_mapping: z.record(z.string(), z.string()).nullable(),
};
type Kept = z.output<z.ZodObject<typeof keptAddressSettings>>;

/**
 * @param authenticationType all but `api_key` ask a token URL for access tokens.
 * @throws RequestInvalid when there is none
 */
export function toKeptAddressSettings(sent: Sent, authenticationType: string): Kept {
  if (authenticationType !== 'api_key' && sent.oauth2_token_url == null)
    throw new RequestInvalid([
      {
        loc: ['body', 'oauth2_token_url'],
        msg: `oauth2_token_url is required when authentication_type is ${authenticationType}`,
        type: 'missing',
      },
    ]);
  const files = sent.multi_modal_config;
  return {
    multi_modal_config: files
      ? { max_files: files.max_files ?? null, max_file_size_bytes: files.max_file_size_bytes ?? null }
      : null,
    authentication_scope: sent.authentication_scope ?? null,
    oauth2_token_url: sent.oauth2_token_url ?? null,
    custom_header_mapping: sent.custom_header_mapping ?? null,
  };
}

/** What these settings decide about a connection. `keyed` proves who calls by the token itself. */
export function addressConnection(
  kept: Kept & { authentication_type: string },
  { token }: Secrets,
  keyed: Authentication,
): Omit<Connection, 'endpoint' | 'addressOf' | 'headers'> {
  const { multi_modal_config: files, oauth2_token_url: tokenUrl } = kept;
  return {
    authentication:
      kept.authentication_type === 'api_key' || tokenUrl === null
        ? keyed
        : { kind: 'oauth2', tokenUrl, scope: kept.authentication_scope, credentials: token ?? null },
    contextHeaders: contextHeadersOf(kept.custom_header_mapping),
    handler: null,
    fileLimits: files && { maxFiles: files.max_files, maxFileSizeBytes: files.max_file_size_bytes },
  };
}
