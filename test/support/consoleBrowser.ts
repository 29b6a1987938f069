import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { buildConsole } from '../../api/console/buildConsole.ts';

export const CHROMIUM = '/usr/bin/chromium';
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export type Account = { key: string } | { email: string; password: string };

export interface ConsoleBrowser extends AsyncDisposable {
  browser: Browser;
  /** What went wrong on any page: errors of scripts and of the console, and what the content policy forbade. */
  problems: string[];
  open(context: BrowserContext): Promise<Page>;
  /** A page on the list of projects, of an account that signed in at the first page of the service. */
  signedIn(account: Account, options?: BrowserContextOptions): Promise<Page>;
  signInOn(page: Page, account: Account): Promise<void>;
}

/** A browser on the console of a service, which is built first. */
export async function consoleBrowser(executablePath: string, serviceUrl: string): Promise<ConsoleBrowser> {
  await buildConsole(() => undefined);
  const browser = await chromium.launch({ executablePath, args: ['--headless', '--no-sandbox', '--disable-gpu'] });
  const problems: string[] = [];

  async function open(context: BrowserContext): Promise<Page> {
    const page = await context.newPage();
    page.on('pageerror', (err) => problems.push(`error: ${err.message}`));
    page.on('console', (message) => {
      // The first question of a browser that is not signed in is answered 401, what is not there 404, a name that is taken 409: browsers note all.
      if (message.type() === 'error' && !/status of 40[149]/.test(message.text())) problems.push(`console: ${message.text()}`);
    });
    await page.addInitScript(() => {
      const scope = globalThis as unknown as { document: EventTarget };
      scope.document.addEventListener('securitypolicyviolation', (event) =>
        console.error(`policy: ${(event as unknown as { violatedDirective: string }).violatedDirective}`),
      );
    });
    return page;
  }

  async function signInOn(page: Page, account: Account) {
    if ('key' in account) await page.getByLabel('API key').fill(account.key);
    else {
      await page.getByLabel('E-mail').fill(account.email);
      await page.getByLabel('Password').fill(account.password);
    }
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  return {
    ...{ browser, problems, open, signInOn },
    async signedIn(account, options = {}) {
      const page = await open(await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options }));
      await page.goto(`${serviceUrl}/`);
      await signInOn(page, account);
      await page.getByRole('heading', { name: 'Projects' }).waitFor();
      return page;
    },
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

/** Returns what axe finds on a page: the rule, and the first element that breaks it. */
export async function axeViolations(page: Page): Promise<[string, string | undefined][]> {
  await page.evaluate(axe);
  const found = await page.evaluate(() =>
    (globalThis as unknown as { axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }).axe.run(),
  );
  return found.violations.map(({ id, nodes }) => [id, nodes[0]?.html]);
}
