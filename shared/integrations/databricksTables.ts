import { z } from 'zod';
import { RequestInvalid, ServiceError } from '../errors/errors.ts';
import type { OutboundGuard } from '../outbound/outbound.ts';
import { AttemptFailure, connectionFailure, httpFailure } from '../providers/failures.ts';
import { findTokenProvider } from '../providers/index.ts';
import { createAccessTokens } from '../providers/oauth2.ts';
import type { Secrets } from '../providers/provider.ts';
import type { Integration } from './integration.ts';

export interface DatabricksTablesDeps {
  openSecrets(integration: Integration): Secrets;
  outbound: Pick<OutboundGuard, 'fetch' | 'mayExplain'>;
}

/** Names that the Unity Catalog of a connected workspace has. */
export interface DatabricksTables {
  /** @throws ServiceError `ProviderFailed` when the workspace does not answer, or refuses */
  catalogs(integration: Integration, signal: AbortSignal): Promise<string[]>;
  /** @param catalog absent: the default one of the integration. @throws as above; RequestInvalid where there is no default */
  databases(integration: Integration, catalog: string | undefined, signal: AbortSignal): Promise<string[]>;
}

const WHO = 'the Databricks workspace';
/** Milliseconds for all pages together. */
const TIME_LIMIT_MS = 30_000;
/** A workspace has hundreds of catalogs at most; the rest of a longer list is left out. */
const MAX_PAGES = 50;

const Named = z.array(z.object({ name: z.string() })).default([]);
const Page = z.object({ catalogs: Named, schemas: Named, next_page_token: z.string().nullish() });

/** The API of Unity Catalog: https://docs.databricks.com/api/workspace/catalogs/list */
export function databricksTables({ openSecrets, outbound }: DatabricksTablesDeps): DatabricksTables {
  const tokens = createAccessTokens(outbound.fetch);

  const page = async (integration: Integration, url: URL, signal: AbortSignal) => {
    const { authentication } = findTokenProvider('databricks').connect(integration.config, openSecrets(integration));
    const bearer =
      authentication.kind === 'oauth2'
        ? `Bearer ${await tokens.get(`${integration.id} ${integration.updatedAt.getTime()}`, authentication)}`
        : authentication.kind === 'header'
          ? authentication.value
          : '';
    const answer = await outbound.fetch(url, { headers: { authorization: bearer }, signal }).catch((err: unknown) => {
      throw connectionFailure(WHO, err);
    });
    const body: unknown = await answer.json().catch(() => undefined);
    if (!answer.ok) throw httpFailure(WHO, answer.status, answer.headers, body);
    const parsed = Page.safeParse(body);
    if (parsed.success) return parsed.data;
    throw new AttemptFailure('malformed_answer', `${WHO} answered what is no list of names`, { retry: false });
  };

  const names = async (
    integration: Integration,
    kind: 'catalogs' | 'schemas',
    query: Record<string, string>,
    signal: AbortSignal,
  ) => {
    const found: string[] = [];
    const url = new URL(`/api/2.1/unity-catalog/${kind}`, hostnameOf(integration));
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const limited = AbortSignal.any([signal, AbortSignal.timeout(TIME_LIMIT_MS)]);
    try {
      for (let count = 0; count < MAX_PAGES; count++) {
        const { next_page_token, [kind]: listed } = await page(integration, url, limited);
        found.push(...listed.map(({ name }) => name));
        if (!next_page_token) break;
        url.searchParams.set('page_token', next_page_token);
      }
      return found;
    } catch (err) {
      signal.throwIfAborted();
      if (limited.aborted) throw failed(`${WHO} did not answer within ${TIME_LIMIT_MS / 1_000} s`);
      if (!(err instanceof AttemptFailure)) throw err;
      throw failed((outbound.mayExplain(url.href) ? err : err.untold()).message);
    }
  };

  return {
    catalogs: (integration, signal) => names(integration, 'catalogs', {}, signal),
    databases(integration, catalog, signal) {
      const name = catalog ?? defaultCatalogOf(integration);
      if (name) return names(integration, 'schemas', { catalog_name: name }, signal);
      const msg = 'name the catalog: the integration has no default_catalog_name';
      throw new RequestInvalid([{ loc: ['query', 'catalog'], msg, type: 'missing' }]);
    },
  };
}

const failed = (message: string): ServiceError => new ServiceError('ProviderFailed', message);

const Settings = z.object({ hostname: z.string(), default_catalog_name: z.string().nullable() });
const hostnameOf = ({ config }: Integration): string => Settings.parse(config).hostname;
const defaultCatalogOf = ({ config }: Integration): string | null => Settings.parse(config).default_catalog_name;
