import { z } from 'zod';
import type { CustomConfig, Secrets } from '../integrations/integration.ts';
import type { Authentication, Connection } from './provider.ts';

const HeadersJson = z.record(z.string(), z.string());
const KwargsJson = z.record(z.string(), z.unknown());

/** An endpoint that a user named, with one of the three ways to authenticate. */
export const customConnection = (config: CustomConfig, secrets: Secrets): Connection => ({
  endpoint: config.endpoint,
  authentication: authenticationOf(config, secrets),
  headers: HeadersJson.parse(JSON.parse(secrets.headers ?? '{}')),
  contextHeaders: {
    ...(config.headerMapping?.job_id && { jobId: config.headerMapping.job_id }),
    ...(config.headerMapping?.user_id && { userId: config.headerMapping.user_id }),
    ...(config.headerMapping?.project_id && { projectId: config.headerMapping.project_id }),
    ...(config.headerMapping?.run_id && { runId: config.headerMapping.run_id }),
  },
  handler: config.handler && { ...config.handler, initKwargs: KwargsJson.parse(JSON.parse(secrets.initKwargs ?? '{}')) },
  fileLimits: config.multiModal,
});

function authenticationOf(config: CustomConfig, secrets: Secrets): Authentication {
  switch (config.authenticationType) {
    case 'none':
      return { kind: 'none' };
    case 'api_key':
      return { kind: 'header', name: config.apiKeyHeader ?? '', value: secrets.apiKeyValue ?? '' };
    case 'oauth2':
      return {
        kind: 'oauth2',
        tokenUrl: config.oauth2TokenUrl ?? config.endpoint,
        scope: config.authenticationScope,
        credentials: secrets.token ?? null,
      };
  }
}
