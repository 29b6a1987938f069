import { type Caller, type ProjectRole, roleInProject } from '../accounts/permissions.ts';
import { BriefCache } from '../concurrency/briefCache.ts';

interface ProjectMembership {
  id: string;
  name: string;
  /** The strongest role that the project gives the user, by name or through a group. */
  membership: ProjectRole | undefined;
}

/** What deciding on access needs of the store of projects. */
export interface MembershipSource {
  membership(projectId: string, userId: string): Promise<ProjectMembership | undefined>;
}

/** A project as its caller sees it. */
interface VisibleProject {
  id: string;
  name: string;
  role: ProjectRole;
}

export interface ProjectAccess {
  /** The project with the caller's role there; undefined when it is unknown or not theirs to see. */
  visible(caller: Caller, projectId: string): Promise<VisibleProject | undefined>;
  /** Call after changing a project, its collaborators or a group, so that it holds at once in this process. */
  forget(): void;
}

/** Asked on every request of a project, so what was read counts for a second. */
export function createProjectAccess(source: MembershipSource): ProjectAccess {
  const known = new BriefCache<ProjectMembership>({ ttlMs: 1_000, maxEntries: 10_000 });
  return {
    async visible(caller, projectId) {
      const found = await known.get(`${projectId}/${caller.userId}`, () => source.membership(projectId, caller.userId));
      const role = found && roleInProject(caller, found.id, found.membership);
      return found && role && { id: found.id, name: found.name, role };
    },
    forget: () => known.clear(),
  };
}
