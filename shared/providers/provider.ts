import type { IntegrationContent, Secrets } from '../integrations/integration.ts';

/** The identifiers of the row a call belongs to. */
export interface CallContext {
  jobId?: string | null;
  userId?: string | null;
  projectId?: string | null;
  runId?: string | null;
}

/** How a call proves who it is. Header values are sent as they stand. */
export type Authentication =
  | { kind: 'none' }
  | { kind: 'header'; name: string; value: string }
  | { kind: 'oauth2'; tokenUrl: string; scope: string | null; credentials: string | null };

/** Everything needed to reach the models of one integration, secrets opened. */
export interface Connection {
  /** Base URL of the OpenAI chat protocol, or the full address when its path ends in `/chat/completions`. */
  endpoint: string;
  authentication: Authentication;
  headers: Readonly<Record<string, string>>;
  /** Header names that carry fields of the context. */
  contextHeaders: Readonly<Partial<Record<keyof CallContext, string>>>;
  handler: { fileName: string; className: string; initKwargs: Record<string, unknown> } | null;
  fileLimits: { maxFiles: number | null; maxFileSizeBytes: number | null } | null;
}

/** A kind of integration whose models can be called: one file each, listed in `index.ts`. */
export interface Provider<Name extends IntegrationContent['provider'] = IntegrationContent['provider']> {
  name: Name;
  connect(config: Extract<IntegrationContent, { provider: Name }>['config'], secrets: Secrets): Connection;
}
