import type { ProjectMembership } from '../accounts/accountStore.ts';
import { type Caller, type KeyRole, roleInProject } from '../accounts/permissions.ts';
import { BriefCache } from '../concurrency/briefCache.ts';

/** The parts of the store of projects that decide on access. */
export interface MembershipSource {
  membership(projectId: string, userId: string): Promise<ProjectMembership | undefined>;
}

/** A project as its caller sees it. */
interface VisibleProject {
  id: string;
  name: string;
  role: KeyRole;
}

export interface ProjectAccess {
  /** The project with the caller's role there; undefined when it is unknown or not theirs to see. */
  visible(caller: Caller, projectId: string): Promise<VisibleProject | undefined>;
  /** For a project that is about to be read together with its caller: takes it when it is there. */
  expect(): (userId: string, project: ProjectMembership) => void;
  /** Call after changing a project, its collaborators or a group, so that it holds at once in this process. */
  forget(): void;
}

/** Asked on every request of a project, so what was read counts for a second. */
export function createProjectAccess(source: MembershipSource): ProjectAccess {
  const known = new BriefCache<ProjectMembership>({ ttlMs: 1_000, maxEntries: 10_000 });
  const keyOf = (projectId: string, userId: string) => `${projectId}/${userId}`;
  return {
    async visible(caller, projectId) {
      const found = await known.get(keyOf(projectId, caller.userId), () => source.membership(projectId, caller.userId));
      const role = found && roleInProject(caller, found.id, found.membership);
      return found && role && { id: found.id, name: found.name, role };
    },
    expect() {
      const remember = known.expect();
      return (userId, project) => remember(keyOf(project.id, userId), project);
    },
    forget: () => known.clear(),
  };
}
