import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { createApp } from '../../api/app.ts';
import { createGate } from '../../api/callers/authenticate.ts';
import { createClientAddresses } from '../../api/callers/clientAddress.ts';
import { accountRoutes } from '../../api/routes/accounts.ts';
import { collaboratorRoutes } from '../../api/routes/collaborators.ts';
import { healthRoutes } from '../../api/routes/health.ts';
import { invitationRoutes } from '../../api/routes/invitations.ts';
import { loginSessionRoutes } from '../../api/routes/loginSessions.ts';
import { logStreamRoutes } from '../../api/routes/logStreams.ts';
import { projectRoutes } from '../../api/routes/projects.ts';
import { accountKeys } from '../../shared/accounts/accountKeys.ts';
import { ensureAdministrator } from '../../shared/accounts/administrator.ts';
import { createCredentials } from '../../shared/accounts/credentials.ts';
import { createPasswords, type Passwords } from '../../shared/accounts/passwords.ts';
import { createTokens } from '../../shared/accounts/tokens.ts';
import { createAssetAccess } from '../../shared/assets/assetAccess.ts';
import { inProcessCoordination } from '../../shared/coordination/inProcess.ts';
import { ServiceError } from '../../shared/errors/errors.ts';
import { newId } from '../../shared/identifiers/ids.ts';
import { createProjectAccess } from '../../shared/projects/access.ts';
import { openFirstLog } from '../../shared/projects/firstLog.ts';
import { createRunLookup, type RunCount } from '../../shared/projects/runs.ts';
import { presetById } from '../../shared/scorers/presets.ts';
import { postgresAccounts } from '../../shared/stores/postgres/accounts.ts';
import { postgresAssets } from '../../shared/stores/postgres/assetAccess.ts';
import { collaboratorStore } from '../../shared/stores/postgres/collaborators.ts';
import { openDatabase } from '../../shared/stores/postgres/connect.ts';
import { postgresLogStreams } from '../../shared/stores/postgres/logStreams.ts';
import { postgresProjects } from '../../shared/stores/postgres/projects.ts';
import { type Answer, type RequestOptions, serve } from './http.ts';
import { openSeededDatabase } from './seedPostgres.ts';

const apiKeyHeaders = ['Service-API-Key', 'Service-AO-API-Key'];
export const adminPassword = 'Correct-Horse-1';

export type Caller = (method: string, path: string, json?: unknown) => Promise<Answer>;

/**
 * Accounts, projects and log streams over a real Postgres (embedded, or at `url`), served over HTTP. Records live in another store, so this
 * one's count of them is a map: deleting empties it, and fails while `recordStore.down` is set. Requests of tests come from this machine: it stands
 * for a proxy unless `trustedProxies` says otherwise, and they say from where.
 */
export async function startAccountService(url?: string, trustedProxies: readonly string[] = ['127.0.0.1']) {
  const directory = await mkdtemp(join(tmpdir(), 'assay-accounts-'));
  const database = await (url ? openDatabase({ url }) : openSeededDatabase(join(directory, 'postgres')));
  const accounts = postgresAccounts(database);
  const projects = postgresProjects(database);
  const logStreams = postgresLogStreams(database);
  /** `at` stops it. */
  const clock: { offsetMs: number; at?: number | undefined } = { offsetMs: 0 };
  const now = () => new Date((clock.at ?? Date.now()) + clock.offsetMs);
  const keys = accountKeys([{ id: 'k1', key: randomBytes(32) }]);
  // Hashes of the usual cost are tested by themselves: here they took most of the CPU.
  const hashing = createPasswords({ atOnce: 2, waiting: 300, waitingOfOne: 100 }, { memory: 64, passes: 1, parallelism: 1 });
  const verifications = { count: 0 };
  const passwords: Passwords = {
    ...hashing,
    verify(...args) {
      verifications.count += 1;
      return hashing.verify(...args);
    },
  };
  const tokens = createTokens(keys, now);
  const coordination = inProcessCoordination({ now: () => now().getTime() });
  const credentials = createCredentials({
    accounts,
    passwords,
    tokens,
    loginCache: coordination.logins,
    attempts: coordination.attempts,
    keys,
    now,
    newId,
  });
  const clients = createClientAddresses(trustedProxies);
  const access = createProjectAccess(projects);
  const assets = createAssetAccess(postgresAssets(database), (id) => presetById(id) !== undefined);
  const runLookup = createRunLookup(logStreams);
  const recordStore = { down: false, counts: new Map<string, RunCount>() };
  const deletions = {
    deletions: projects,
    deleteRecords: async (_projectId: string, runId?: string) => {
      if (recordStore.down) throw new ServiceError('Unavailable', 'the record store does not answer');
      if (runId === undefined) recordStore.counts.clear();
      else recordStore.counts.delete(runId);
    },
    stillStored: async () => [],
    newId,
    forget() {
      access.forget();
      runLookup.forget();
      credentials.forget();
    },
  };
  const health = { ok: true, message: 'ready', parts: [] };
  const runCounts = async (_projectId: string, runIds: readonly string[]) =>
    new Map([...recordStore.counts].filter(([runId]) => runIds.includes(runId)));
  const newestRecords = async () => new Map<string, string>();
  const firstLog = openFirstLog({ projects, logStreams, newId, makes: 'projects', log: pino({ level: 'silent' }) });
  const endpoints = [
    ...healthRoutes({ health: async () => health, version: '0.1.0' }),
    ...accountRoutes({ accounts, passwords, credentials, access, clients, newId, now }),
    ...invitationRoutes({ accounts, passwords, credentials, newId, now }),
    ...loginSessionRoutes({ accounts, passwords, credentials, clients, now }),
    ...projectRoutes({ projects, newestRecords, accounts, access, firstLog, makeExamples: async () => {}, ...deletions }),
    ...collaboratorRoutes({
      projects,
      access,
      assets,
      assetCollaborators: {
        dataset: collaboratorStore(database, 'dataset'),
        prompt: collaboratorStore(database, 'prompt'),
        integration: collaboratorStore(database, 'integration'),
      },
    }),
    ...logStreamRoutes({ logStreams, firstLog, accounts, runCounts, ...deletions }),
  ];
  const administrator = await ensureAdministrator(
    { accounts, passwords },
    { email: 'admin@example.com', password: adminPassword },
  );
  if (!administrator.created) throw new Error('the database had an administrator already');
  const gate = createGate({ credentials, access, runs: runLookup, assets, apiKeyHeaders, clients });
  const http = await serve(
    createApp({
      endpoints,
      gate,
      log: pino({ level: 'silent' }),
      apiKeyHeaders,
      checkReplies: true,
    }),
  );
  const as =
    (headers: Record<string, string>): Caller =>
    (method, path, json) =>
      http.request(method, path, { headers, ...(json === undefined ? {} : { json }) });
  const withKey = (key: string) => as({ 'Service-API-Key': key });

  return {
    http,
    gate,
    database,
    accounts,
    passwords,
    verifications,
    projects,
    logStreams,
    deletions,
    runLookup,
    recordStore,
    health,
    clock,
    administrator,
    admin: withKey(administrator.apiKey),
    withKey,
    withToken: (token: string) => as({ authorization: `Bearer ${token}` }),
    request: (method: string, path: string, options?: RequestOptions) => http.request(method, path, options),
    /** A new user of `role` with a key of their own. */
    async user(role: string) {
      const email = `${newId()}@example.com`;
      const password = 'Some-Password-1';
      const created = await withKey(administrator.apiKey)('POST', '/users', { email, password, role });
      const login = await http.request('POST', '/login', { form: { username: email, password } });
      const call = as({ authorization: `Bearer ${login.body.access_token}` });
      return { id: created.body.id as string, email, password, call };
    },
    /** A project that the administrator owns. */
    async project(): Promise<{ id: string; name: string }> {
      const { body } = await withKey(administrator.apiKey)('POST', '/projects', { name: `project ${newId()}` });
      return body;
    },
    async [Symbol.asyncDispose]() {
      await http.close();
      await coordination.close();
      await database.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

export type AccountService = Awaited<ReturnType<typeof startAccountService>>;
