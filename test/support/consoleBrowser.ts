import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { buildConsole } from '../../api/console/buildConsole.ts';

export const CHROMIUM = '/usr/bin/chromium';
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export type Account = { key: string } | { email: string; password: string };

/** Closing it throws every problem of its pages, as one error. */
export interface ConsoleBrowser extends AsyncDisposable {
  /** What went wrong on any page: errors of scripts, rejections that nothing handles, errors of the console, and what the content policy forbade. */
  problems: string[];
  /** A browser of its own, without a cookie of the others. */
  context(options?: BrowserContextOptions): Promise<BrowserContext>;
  /** A page that is not signed in, or one more of a context. */
  open(context?: BrowserContext): Promise<Page>;
  /** A page on the list of projects, of an account that signed in at the first page of the service. */
  signedIn(account: Account, options?: BrowserContextOptions): Promise<Page>;
  signInOn(page: Page, account: Account): Promise<void>;
}

// The first question of a browser that is not signed in is answered 401, what is not there 404, a name that is taken 409: browsers note all.
const NOTED = /status of 40[149]/;

/**
 * A browser on the console of a service, which is built first.
 * @param expected errors of the console that are no problem here
 */
export async function consoleBrowser(executablePath: string, serviceUrl: string, expected?: RegExp): Promise<ConsoleBrowser> {
  await buildConsole(() => undefined);
  const browser = await chromium.launch({ executablePath, args: ['--headless', '--no-sandbox', '--disable-gpu'] });
  const problems: string[] = [];

  /** Pages that scripts open are watched, too. */
  async function context(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    const made = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
    made.on('weberror', (err) => problems.push(`error: ${err.error().message}`));
    made.on('console', (message) => {
      const text = message.text();
      if (message.type() === 'error' && !NOTED.test(text) && !expected?.test(text)) problems.push(`console: ${text}`);
    });
    await made.addInitScript(() => {
      const scope = globalThis as unknown as { document: EventTarget };
      scope.document.addEventListener('securitypolicyviolation', (event) =>
        console.error(`policy: ${(event as unknown as { violatedDirective: string }).violatedDirective}`),
      );
    });
    return made;
  }

  const open = async (given?: BrowserContext): Promise<Page> => (given ?? (await context())).newPage();

  async function signInOn(page: Page, account: Account) {
    if ('key' in account) await page.getByLabel('API key').fill(account.key);
    else {
      await page.getByLabel('E-mail').fill(account.email);
      await page.getByLabel('Password').fill(account.password);
    }
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  return {
    ...{ problems, context, open, signInOn },
    async signedIn(account, options) {
      const page = await open(await context(options));
      await page.goto(`${serviceUrl}/`);
      await signInOn(page, account);
      await page.getByRole('heading', { name: 'Projects' }).waitFor();
      return page;
    },
    async [Symbol.asyncDispose]() {
      await browser.close();
      if (problems.length > 0) throw new Error(`pages had problems:\n${problems.join('\n')}`);
    },
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
