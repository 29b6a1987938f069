import type { BrowserContext, Page } from 'playwright-core';
import { newId } from '../../shared/identifiers/ids.ts';
import type { ConsoleBrowser } from './consoleBrowser.ts';
import type { TestService } from './testService.ts';

export interface ConsoleOthers {
  /**
   * Opens a link as others have it: an account that is a viewer of the project, for which `isShown` waits, and one that does not see the project, whose
   * page says that there is nothing and shows none of it.
   */
  openLink(projectId: string, link: string, isShown: (page: Page) => Promise<unknown>): Promise<void>;
}

const PASSWORD = 'A-Password-of-others-1';

interface Other {
  id: string;
  email: string;
  context: BrowserContext;
  isSignedIn: boolean;
}

/** Two accounts beside the administrator. They sign in where their first link leads them. */
export function consoleOthers(pages: ConsoleBrowser, service: TestService): ConsoleOthers {
  let made: Promise<{ viewer: Other; stranger: Other }> | undefined;

  async function account(): Promise<Other> {
    const email = `${newId()}@example.com`;
    const { status, body } = await service.request('POST', '/users', { email, password: PASSWORD, role: 'user' });
    if (status !== 200) throw new Error(`no account: ${JSON.stringify(body)}`);
    return { id: (body as { id: string }).id, email, context: await pages.context(), isSignedIn: false };
  }

  async function goTo(link: string, other: Other): Promise<Page> {
    const page = await pages.open(other.context);
    await page.goto(link);
    if (!other.isSignedIn) await pages.signInOn(page, { email: other.email, password: PASSWORD });
    other.isSignedIn = true;
    return page;
  }

  return {
    async openLink(projectId, link, isShown) {
      made ??= (async () => ({ viewer: await account(), stranger: await account() }))();
      const { viewer, stranger } = await made;
      const added = await service.request('POST', `/projects/${projectId}/users`, [{ user_id: viewer.id, role: 'viewer' }]);
      // Another test of the file has added the account before.
      if (added.status !== 200 && added.status !== 409) throw new Error(`no member: ${JSON.stringify(added.body)}`);
      const page = await goTo(link, viewer);
      await isShown(page);
      await page.close();

      const refused = await goTo(link, stranger);
      await refused.getByRole('alert').filter({ hasText: 'There is nothing here' }).first().waitFor();
      for (const role of ['grid', 'treegrid', 'article'] as const)
        if ((await refused.getByRole(role).count()) > 0) throw new Error(`a stranger sees a ${role} at ${link}`);
      await refused.close();
    },
  };
}
