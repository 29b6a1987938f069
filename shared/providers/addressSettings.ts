import { z } from 'zod';
import { RequestInvalid } from '../errors/errors.ts';
import {
  AuthenticationScope,
  HeaderMapping,
  headersSetTwice,
  MultiModalConfig,
  ProviderToken,
  ShownMultiModalConfig,
  TokenOrCredentials,
  Url,
} from '../wire/integrations.ts';
import type { Secrets } from './provider.ts';
import { type Authentication, type Connection, contextHeadersOf } from './provider.ts';

/** Settings of a provider that is reached at an address of the user's own: a gateway, or a resource in a cloud. */
export const sentAddressSettings = {
  multi_modal_config: MultiModalConfig.nullish(),
  authentication_scope: AuthenticationScope.nullish(),
  oauth2_token_url: Url.nullish(),
  custom_header_mapping: HeaderMapping.nullish(),
  token: TokenOrCredentials,
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

/** The other settings of a request that decide about these. */
interface Beside {
  /** All but `api_key` ask `oauth2_token_url` for access tokens. */
  authenticationType: string;
  /** The header that carries the token itself. */
  keyHeader: string;
  /** Asked for access tokens where no other address is named. */
  tokenUrl?: string | null | undefined;
  headers?: Record<string, string> | null | undefined;
}

/** @throws RequestInvalid when settings do not go together */
export function toKeptAddressSettings(sent: Sent, { authenticationType, keyHeader, tokenUrl, headers }: Beside): Kept {
  const isKey = authenticationType === 'api_key';
  const oauth2_token_url = sent.oauth2_token_url ?? (isKey ? null : (tokenUrl ?? null));
  const wrong = (path: string[], msg: string, type: string) => ({ loc: ['body', ...path], msg, type });
  const items = [
    ...headersSetTwice(isKey ? keyHeader : 'authorization', headers, sent.custom_header_mapping, 'default_headers').map(
      ({ path, message }) => wrong(path, message, 'custom'),
    ),
    ...(isKey ? (ProviderToken.safeParse(sent.token).error?.issues ?? []) : []).map(({ message }) =>
      wrong(['token'], message, 'custom'),
    ),
    ...(isKey || oauth2_token_url !== null
      ? []
      : [
          wrong(
            ['oauth2_token_url'],
            `oauth2_token_url is required when authentication_type is ${authenticationType}`,
            'missing',
          ),
        ]),
  ];
  if (items.length > 0) throw new RequestInvalid(items);
  return {
    multi_modal_config: keptFileLimits(sent.multi_modal_config),
    authentication_scope: sent.authentication_scope ?? null,
    oauth2_token_url,
    custom_header_mapping: sent.custom_header_mapping ?? null,
  };
}

export const keptFileLimits = (sent: z.output<typeof MultiModalConfig> | null | undefined): Kept['multi_modal_config'] =>
  sent ? { max_files: sent.max_files ?? null, max_file_size_bytes: sent.max_file_size_bytes ?? null } : null;

export const fileLimitsOf = (kept: Kept['multi_modal_config']): Connection['fileLimits'] =>
  kept && { maxFiles: kept.max_files, maxFileSizeBytes: kept.max_file_size_bytes };

/** Returns what these settings decide about a connection. `keyed` proves who calls by the token itself. */
export function addressConnection(
  kept: Kept & { authentication_type: string },
  { token }: Secrets,
  keyed: Authentication,
): Pick<Connection, 'authentication' | 'contextHeaders' | 'handler' | 'fileLimits'> {
  const { oauth2_token_url: tokenUrl } = kept;
  return {
    authentication:
      kept.authentication_type === 'api_key' || tokenUrl === null
        ? keyed
        : {
            kind: 'oauth2',
            ...(kept.authentication_type === 'username_password' && { grant: 'password' as const }),
            ...{ tokenUrl, scope: kept.authentication_scope, credentials: token ?? null },
          },
    contextHeaders: contextHeadersOf(kept.custom_header_mapping),
    handler: null,
    fileLimits: fileLimitsOf(kept.multi_modal_config),
  };
}
