import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { LRUCache } from 'lru-cache';
import type { About } from '../../shared/accounts/accountStore.ts';
import type { Asked, Credentials } from '../../shared/accounts/credentials.ts';
import { type Caller, LOGGER, mayInOrganization, mayInProject } from '../../shared/accounts/permissions.ts';
import type { AssetAccess } from '../../shared/assets/assetAccess.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import type { ProjectAccess } from '../../shared/projects/access.ts';
import { type RunLookups, type RunRef, runKinds } from '../../shared/projects/runs.ts';
import { Uuid } from '../../shared/wire/common.ts';
import type { Gate } from '../http/route.ts';
import type { ClientAddresses } from './clientAddress.ts';

/** The gate over the accounts. */
export interface AccountGate extends Gate {
  /** Remembers where a request logged to whose path does not say it: the next one with the same credentials is likely to be about the same run. */
  noteTarget(request: IncomingMessage, run: RunRef): void;
}

/** Credentials of which it is remembered where they logged to last. */
const MAX_TARGETS = 10_000;

/**
 * The gate in front of every route. Of the four schemes any one is enough: an API key in one of `apiKeyHeaders`, a bearer token, or Basic.
 * Where a request carries several, the first that holds counts.
 */
export function createGate(deps: {
  credentials: Credentials;
  access: ProjectAccess;
  runs: Pick<RunLookups, 'expect'>;
  assets: Pick<AssetAccess, 'require'>;
  apiKeyHeaders: readonly string[];
  clients: ClientAddresses;
}): AccountGate {
  const keyHeaders = deps.apiKeyHeaders.map((name) => name.toLowerCase());
  const lastTargets = new LRUCache<string, About>({ max: MAX_TARGETS });
  const secretOf = ({ headers }: IncomingMessage) =>
    hash('sha256', JSON.stringify([headers.authorization, ...keyHeaders.map((name) => headers[name])]));

  /** Names the project and the run to read with the caller: the project of the path, or what the same credentials logged to last. */
  function askedBy(request: IncomingMessage, projectId: string | undefined): Asked | undefined {
    const inPath = Uuid.safeParse(projectId).data;
    const about = inPath === undefined ? lastTargets.get(secretOf(request)) : { projectId: inPath };
    if (!about) return undefined;
    const [knowProject, knowRun] = [deps.access.expect(), deps.runs.expect()];
    return {
      ...about,
      found(userId, { project, run }) {
        if (project) knowProject(userId, project);
        const kind = runKinds.find((one) => one === run?.kind);
        if (project && run && kind) knowRun({ projectId: project.id, runId: run.id, kind }, run.name);
      },
    };
  }

  return {
    async authenticate(request, projectId) {
      let refusal = new ServiceError(
        'Unauthenticated',
        `no credentials: send an API key in ${deps.apiKeyHeaders.join(' or ')}, a bearer token, or Basic authentication`,
      );
      for (const attempt of attempts(request, deps, keyHeaders, askedBy(request, projectId))) {
        try {
          return await attempt();
        } catch (err) {
          if (!(err instanceof ServiceError) || err.code !== 'Unauthenticated') throw err;
          refusal = err;
        }
      }
      throw refusal;
    },

    noteTarget(request, { projectId, runId }) {
      lastTargets.set(secretOf(request), { projectId, runId });
    },

    async authorize(caller, access, id) {
      if (access === 'public' || access === 'signedIn') return undefined;
      if ('organization' in access) {
        if (!mayInOrganization(caller, access.organization)) throw notAllowed(caller, access.organization);
        return undefined;
      }
      if ('asset' in access) {
        await deps.assets.require(caller, access.asset, id, access.action);
        return undefined;
      }
      if (id === undefined) throw new Error('a route that needs a project has no project_id in its path');
      const project = await deps.access.visible(caller, id);
      if (!project) throw new ServiceError('NotFound', 'no such project');
      if (!mayInProject(project.role, access.project)) throw notAllowed(caller, access.project, project.role);
      return project;
    },
  };
}

function attempts(
  request: IncomingMessage,
  { credentials, clients }: { credentials: Credentials; clients: ClientAddresses },
  keyHeaders: readonly string[],
  asked: Asked | undefined,
): (() => Promise<Caller>)[] {
  const keys = keyHeaders.flatMap((name) => request.headers[name] ?? []);
  const found = keys.map((key) => () => credentials.ofApiKey(key, asked));
  const [, scheme = '', value = ''] = /^(\S+) +(.+)$/.exec(request.headers.authorization ?? '') ?? [];
  if (scheme.toLowerCase() === 'bearer') found.push(() => credentials.ofToken(value, asked));
  if (scheme.toLowerCase() === 'basic') {
    const pair = Buffer.from(value, 'base64').toString('utf8');
    const colon = pair.indexOf(':');
    // No account has a name with NUL, and the stores refuse the question.
    if (colon >= 0 && !pair.includes('\0'))
      found.push(() => credentials.ofPassword(pair.slice(0, colon), pair.slice(colon + 1), clients.of(request)));
  }
  return found;
}

function notAllowed(caller: Caller, need: string, projectRole?: string): ServiceError {
  const isLogger = caller.projectKey?.role === LOGGER;
  const role = isLogger
    ? 'a key that only logs'
    : projectRole
      ? `${projectRole} of this project`
      : caller.projectKey
        ? 'a key limited to a project'
        : caller.role;
  return new ServiceError('Forbidden', `not allowed: ${role} lacks ${need}`);
}
