import {
  type AssetAction,
  type Caller,
  LOGGER,
  mayOnAsset,
  type ProjectRole,
  roleInProject,
  roleOnAsset,
  seesAllProjects,
} from '../accounts/permissions.ts';
import { type ErrorName, ServiceError } from '../errors/errors.ts';
import { projectRoles } from '../wire/accounts.ts';

/** The kinds of things that callers share beside projects. Each thing has an owner. */
export const assetKinds = ['dataset', 'prompt', 'scorer', 'integration'] as const;
export type AssetKind = (typeof assetKinds)[number];

/** The user whose view of the assets is asked for. */
export interface AssetViewer {
  userId: string;
  /** Sees every asset, as its owner. */
  everything: boolean;
  /** Acts with a key limited to a project: neither what is the organization's nor what its user made elsewhere is there for it. */
  limited: boolean;
  /** The projects that the viewer sees, with the role there; empty where `everything` is seen. */
  projects: readonly { id: string; role: ProjectRole }[];
  /** Lists hold the assets on which one of these roles is granted. */
  grants: readonly ProjectRole[];
}

export interface AssetSource {
  /** The strongest role of the user in each project that gives one, by name or through a group. */
  projectRoles(userId: string): Promise<ReadonlyMap<string, ProjectRole>>;
  /** The strongest role that something grants the viewer on each of these assets: deleted ones too, none for those that are not there. */
  grants(kind: AssetKind, viewer: AssetViewer, ids: readonly string[]): Promise<ReadonlyMap<string, ProjectRole>>;
}

/** The one place that answers what a caller may do with a dataset, a prompt, a scorer or an integration. */
export interface AssetAccess {
  /** The caller's view for lists: of the assets with which they may do all of `actions`. */
  viewer(caller: Caller, actions?: readonly AssetAction[]): Promise<AssetViewer>;
  /** The caller's role on each of these assets that they see. */
  roles(caller: Caller, kind: AssetKind, ids: readonly string[]): Promise<ReadonlyMap<string, ProjectRole>>;
  sees(caller: Caller, kind: AssetKind, id: string): Promise<boolean>;
  /** @throws ServiceError `NotFound` for an asset that is not there or not the caller's to see; `Forbidden` for an action that their role lacks. */
  require(caller: Caller, kind: AssetKind, id: string | undefined, action: AssetAction): Promise<void>;
}

const missing: Record<AssetKind, { error: ErrorName; message: (id: string) => string }> = {
  dataset: { error: 'NotFound', message: (id) => `there is no dataset ${id}` },
  prompt: { error: 'NotFound', message: (id) => `there is no prompt template ${id}` },
  scorer: { error: 'NotFound', message: (id) => `no scorer has the id ${id}` },
  integration: { error: 'IntegrationNotFound', message: () => 'no such integration' },
};

/** @param isBuiltIn true for a scorer that comes with the service: every caller may read it */
export function createAssetAccess(source: AssetSource, isBuiltIn: (scorerId: string) => boolean): AssetAccess {
  const viewer: AssetAccess['viewer'] = async (caller, actions = []) => {
    const everything = seesAllProjects(caller) && !caller.projectKey;
    const memberships = everything ? new Map<string, ProjectRole>() : await source.projectRoles(caller.userId);
    const ids = caller.projectKey ? [caller.projectKey.projectId] : [...memberships.keys()];
    return {
      userId: caller.userId,
      everything,
      limited: caller.projectKey !== undefined,
      projects: ids.flatMap((id) => {
        const role = roleInProject(caller, id, memberships.get(id));
        return role && role !== LOGGER ? [{ id, role }] : [];
      }),
      grants: projectRoles.filter((grant) => {
        const role = roleOnAsset(caller, grant);
        return role !== undefined && actions.every((action) => mayOnAsset(role, action));
      }),
    };
  };
  const roles: AssetAccess['roles'] = async (caller, kind, ids) => {
    if (caller.projectKey?.role === LOGGER) return new Map();
    const builtIn = kind === 'scorer' ? ids.filter(isBuiltIn) : [];
    const stored = ids.filter((id) => !builtIn.includes(id));
    const granted = stored.length > 0 ? await source.grants(kind, await viewer(caller), stored) : new Map<string, ProjectRole>();
    return new Map([
      ...builtIn.map((id) => [id, 'viewer'] as const),
      // A key limited to a project manages no integration.
      ...[...granted].flatMap(([id, grant]) => {
        const role = roleOnAsset(caller, kind === 'integration' && caller.projectKey ? 'viewer' : grant);
        return role ? [[id, role] as const] : [];
      }),
    ]);
  };
  return {
    viewer,
    roles,
    sees: async (caller, kind, id) => (await roles(caller, kind, [id])).has(id),
    async require(caller, kind, id, action) {
      const role = id === undefined ? undefined : (await roles(caller, kind, [id])).get(id);
      if (!role) throw new ServiceError(missing[kind].error, missing[kind].message(id ?? 'of this name'));
      if (!mayOnAsset(role, action)) throw new ServiceError('Forbidden', `not allowed: ${role} of this ${kind} lacks ${action}`);
    },
  };
}

/** Where what a caller makes belongs: to the project that they name, or else, with a key limited to a project, to that one. */
export const homeProject = (caller: Caller, projectId: string | undefined): string | undefined =>
  projectId ?? caller.projectKey?.projectId;
