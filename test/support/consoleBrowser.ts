import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { buildConsole } from '../../api/console/buildConsole.ts';
import { holdTimers, letTimersGo } from './heldTimers.ts';

export const CHROMIUM = '/usr/bin/chromium';
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Milliseconds that a page may take for a step. It only ends what hangs, before the limit of a test does, which does not say where. */
const STEP_MS = 120_000;
/** Milliseconds in which the console takes a deletion back. */
const UNDO_MS = 8_000;

/**
 * Features of Chromium that are switched off. The last two are pages in the address bar of each window, which nothing shows, and which take four fifths
 * of the CPU of a window. The others are those that Playwright switches off, since its switch is replaced by this one.
 */
const WITHOUT = [
  ...[
    'AvoidUnnecessaryBeforeUnloadCheckSync',
    'DestroyProfileOnBrowserClose',
    'HttpsUpgrades',
    'HttpsFirstBalancedModeAutoEnable',
  ],
  ...['LensOverlay', 'MediaRouter', 'PaintHolding', 'ThirdPartyStoragePartitioning', 'AvoidCorsURLLoaderRestartOnRedirect'],
  ...['OptimizationHints', 'NetworkTimeServiceQuerying', 'AimEnabled', 'PreconnectToSearch'],
  ...['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup'],
];

export type Account = { key: string } | { email: string; password: string };

/** Closing it throws every problem of its pages, as one error. */
export interface ConsoleBrowser extends AsyncDisposable {
  /** Problems of all pages: errors of scripts, unhandled rejections, errors in the console, and violations of the content policy. */
  problems: string[];
  /** A browser of its own, without a cookie of the others. On its pages a deletion can be taken back until `endUndo`. */
  context(options?: BrowserContextOptions): Promise<BrowserContext>;
  /** A page that is not signed in, or one more of a context. */
  open(context?: BrowserContext): Promise<Page>;
  /** A page on the list of projects, in a browser of its own, of an account that is signed in. */
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
  const browser = await chromium.launch({
    executablePath,
    args: ['--headless', '--no-sandbox', '--disable-gpu', `--disable-features=${WITHOUT.join(',')}`],
    timeout: STEP_MS,
  });
  const problems: string[] = [];
  /** Cookies of accounts that signed in: a second page of one begins with them, unless they were signed out. */
  const kept = new Map<string, Awaited<ReturnType<BrowserContext['storageState']>>>();

  /** Pages that scripts open are watched, too. */
  async function context(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    const made = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
    made.setDefaultTimeout(STEP_MS);
    await holdTimers(made, UNDO_MS);
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
      const name = JSON.stringify(account);
      const storageState = kept.get(name);
      const page = await open(await context({ ...options, ...(storageState && { storageState }) }));
      await page.goto(`${serviceUrl}/`);
      const projects = page.getByRole('heading', { name: 'Projects' });
      const signIn = page.getByRole('heading', { name: 'Sign in to Assay' });
      await projects.or(signIn).waitFor();
      if (await signIn.isVisible()) {
        await signInOn(page, account);
        await projects.waitFor();
        kept.set(name, await page.context().storageState());
      }
      return page;
    },
    async [Symbol.asyncDispose]() {
      await browser.close();
      if (problems.length > 0) throw new Error(`pages had problems:\n${problems.join('\n')}`);
    },
  };
}

/** Ends the time in which the deletions that wait on a page can be taken back. */
export const endUndo = (page: Page): Promise<void> => letTimersGo(page, UNDO_MS);

/** All rules run. That what passes is not listed, nor selectors made, takes a third of their time away. */
const ONLY_VIOLATIONS = { resultTypes: ['violations'], selectors: false, preload: false };

type Violations = [rule: string, element: string | undefined][];

/**
 * Returns what axe finds on a page: the rule, and the first element that breaks it.
 * @param rules only these; all that axe runs by itself without them
 */
export async function axeViolations(page: Page, ...rules: string[]): Promise<Violations> {
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axe);
  const found = await page.evaluate(
    (options) =>
      (
        globalThis as unknown as {
          axe: { run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
        }
      ).axe.run(options),
    { ...ONLY_VIOLATIONS, ...(rules.length > 0 && { runOnly: { type: 'rule', values: rules } }) },
  );
  return found.violations.map(({ id, nodes }) => [id, nodes[0]?.html]);
}

/** The same in the light and in the dark theme of the system. What a page consists of is the same in both: in the second, rules for colours are enough. */
export async function axeViolationsInBothThemes(page: Page): Promise<{ light: Violations; dark: Violations }> {
  await page.emulateMedia({ colorScheme: 'light' });
  const light = await axeViolations(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  return { light, dark: await axeViolations(page, 'color-contrast', 'link-in-text-block') };
}
